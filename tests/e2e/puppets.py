"""Engines that do what a test tells them, behind the transport of tests/plugins/puppet."""
import contextlib
import http.client
import json
import pathlib
import socket
import tempfile

from support import BUILD, DEADLINE, Gateway, chat, wait_for

PLUGINS = BUILD / "lib" / "smg" / "test-plugins"


class Puppet:
    """One worker. Takes the orders that tests/plugins/puppet/orders.hpp lists."""

    def __init__(self, folder, name):
        self.path = str(folder / name)
        self.url = f"ipc://{self.path}"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(DEADLINE)
        self.socket.bind(self.path + ".test")

    def tell(self, *orders):
        """Returns when all have been carried out; a `report` is then on its way to be read."""
        for order in orders:
            self.socket.sendto(order.encode(), self.path)
            assert self.socket.recv(512) == b"ok", order


class Events:
    """The gateway's event stream, from now on."""

    def __init__(self, running, types="liveness_changed"):
        self.connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=DEADLINE)
        self.connection.request("GET", f"/events?types={types}")
        self.response = self.connection.getresponse()

    def next(self):
        """The next event, waited for."""
        while True:
            line = self.response.readline()
            assert line, "the event stream ended"
            if line.startswith(b"data: "):
                return json.loads(line[6:])

    def expect(self, worker, before, after, text):
        event = self.next()
        assert (event["worker"], event["before"], event["after"], event["text"]) == (worker.url, before, after, text)

    def close(self):
        self.response.close()
        self.connection.close()


class Stream:
    """A generation that is left open. Made when its head has come."""

    def __init__(self, running):
        self.connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=DEADLINE)
        self.connection.request("POST", "/v1/chat/completions", json.dumps(chat(stream=True)), {"Content-Type": "application/json"})
        self.response = self.connection.getresponse()
        assert self.response.status == 200
        self.url = self.response.headers["x-smg-routed-worker-id"]

    def token(self):
        """The next event's text, waited for."""
        line = self.response.readline().decode().strip()
        self.response.readline()
        return line.removeprefix("data: ")

    def ended(self):
        return self.response.read() == b""

    def close(self):
        self.response.close()
        self.connection.close()


@contextlib.contextmanager
def streams(running, count):
    opened = []
    try:
        for _ in range(count):
            opened.append(Stream(running))
        yield opened
    finally:
        for stream in opened:
            stream.close()


@contextlib.contextmanager
def stage(count, extra="", **options):
    """A gateway in front of that many puppets, and its events about liveness."""
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="smg-")))
        puppets = [Puppet(folder, f"worker{number}") for number in range(count)]
        for puppet in puppets:
            stack.callback(puppet.socket.close)
        running = stack.enter_context(Gateway(puppets, extra=extra, plugins=[PLUGINS], **options))
        events = Events(running)
        stack.callback(events.close)
        # A passing probe is contact; the next comes after the interval of health checks.
        wait_for(lambda: running.metric("smg_worker_health_checks_total", result="success") >= count, "the first probes")
        yield running, events, puppets
