"""Clients that open a stream which its engine writes as fast as TCP takes it, and read only a little of it each second."""

import socket
import threading
import time


class SlowReaders:
    """`count` streams in one thread, each reading `bytes_per_second` once a second, evenly staggered."""

    def __init__(self, port, request, count, bytes_per_second):
        self.sockets = []
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", port), timeout=30)
            client.sendall(request)
            self.sockets.append(client)
        self.bytes_per_second = bytes_per_second
        self.received = [0] * count
        self.broken = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()
        for client in self.sockets:
            client.close()

    def _run(self):
        step = 1 / len(self.sockets)
        due = time.monotonic()
        turn = 0
        while not self._end.wait(max(0, due - time.monotonic())):
            index = turn % len(self.sockets)
            try:
                data = self.sockets[index].recv(self.bytes_per_second)
            except OSError:
                data = b""
            self.received[index] += len(data)
            self.broken += not data
            turn += 1
            due += step


class HealthProbe:
    """Asks /health again and again over one connection and keeps how long each answer took, in milliseconds."""

    request = b"GET /health HTTP/1.1\r\nHost: bench\r\n\r\n"

    def __init__(self, port, interval):
        self.port = port
        self.interval = interval
        self.times = []
        self.failed = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()

    def _run(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while not self._end.wait(self.interval):
                began = time.monotonic()
                try:
                    client.sendall(self.request)
                    answer = client.recv(4096)
                except OSError:
                    answer = b""
                self.times.append((time.monotonic() - began) * 1000)
                self.failed += not answer.startswith(b"HTTP/1.1 200")
