"""How a gateway ends: what runs is finished, what comes is told, and another process can take over."""
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time

from engines import Engine
from observe import Stream
from support import DEADLINE, ENV, SLOW, SMG, Gateway, chat, dial, gateway, read_all, wait_for
from test_plugin_storm import Load

HAND_OVER = "reuse_port = true\n"


def terminate(running):
    running.process.send_signal(signal.SIGTERM)


def draining(running):
    def says_so():
        status, _, body = running.get("/readiness")
        return status == 503 and json.loads(body)["reason"] == "draining"

    wait_for(says_so, "readiness to turn")


def asks(port):
    """One request on a connection of its own: status, headers, body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
    with contextlib.closing(connection):
        connection.request("POST", "/v1/chat/completions", json.dumps(chat(max_tokens=1)), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


def test_sigterm_lets_200_streams_of_20_seconds_complete():
    with Engine("--max-running", "1000", "--kv-blocks", "1000000") as engine, Gateway([engine], grace=120) as running:
        begun = time.monotonic()
        streams = Load("stream", running.port, connections=200, interval_ms=200, tokens=100, ramp=1, warmup=0, duration=1, drain=120)
        wait_for(lambda: running.metric("smg_http_streams_active") == 200, "200 streams to run")
        terminate(running)
        draining(running)
        assert running.get("/liveness")[0] == 200 and running.get("/health")[0] == 200
        status, headers, body = asks(running.port)
        assert status == 503 and headers["connection"] == "close" and headers["retry-after"] == "1"
        assert headers["x-smg-error-code"] == json.loads(body)["error"]["code"] == "draining"
        figures = streams.figures()
        assert figures["completed"] == 200 and sum(figures["errors"].values()) == 0, figures
        assert time.monotonic() - begun >= 19
        assert running.process.wait(timeout=30 * SLOW) == 0


def test_after_the_settle_time_nobody_listens_and_what_runs_ends():
    with Engine() as engine, Gateway([engine]) as running:
        stream = Stream(running.port, max_tokens=40, sim_interval_ms=50)
        stream.flows()
        terminate(running)
        # Grace is one second here, so settle is half of it.
        wait_for(lambda: refuses(running.port), "the listener to close")
        assert running.process.wait(timeout=DEADLINE) == 0


def refuses(port):
    try:
        dial(port).close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_kept_connection_is_told_that_it_ends():
    with gateway(lambda connection, request: connection.answer()) as (running, _):
        kept = http.client.HTTPConnection("127.0.0.1", running.port, timeout=DEADLINE)
        kept.request("GET", "/health")
        assert kept.getresponse().read() == b"OK"
        terminate(running)
        draining(running)
        kept.request("GET", "/health")
        answer = kept.getresponse()
        assert answer.status == 200 and answer.headers["connection"] == "close"
        kept.close()


def test_a_second_signal_ends_at_once():
    with Engine() as engine, Gateway([engine], grace=600) as running:
        stream = Stream(running.port, max_tokens=100000, sim_interval_ms=50)
        stream.flows()
        terminate(running)
        draining(running)
        terminate(running)
        assert running.process.wait(timeout=DEADLINE) == 0
        assert stream.result() != "complete"


def test_the_service_manager_hears_of_start_and_stop():
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(folder + "/notify")
        manager.settimeout(DEADLINE)
        ENV["NOTIFY_SOCKET"] = folder + "/notify"
        try:
            with Gateway([], ready=False) as running:
                assert manager.recv(100) == b"READY=1"
                assert running.get("/health")[0] == 200
                terminate(running)
                assert manager.recv(100) == b"STOPPING=1"
        finally:
            del ENV["NOTIFY_SOCKET"]


class Successor:
    """A second process with the configuration of the first."""

    def __init__(self, running):
        self.log = open(running.config.parent / f"successor-{os.urandom(4).hex()}", "w+")
        self.process = subprocess.Popen([SMG, "launch", "--config", running.config], stdout=self.log, stderr=subprocess.STDOUT, env=ENV)
        wait_for(self.listens, "the successor to listen")
        # Ready, not only there: it needs its workers.
        wait_for(lambda: "is ready" in self.text() or self.ready(running), "the successor to be ready")

    def text(self):
        with open(self.log.name) as log:
            return log.read()

    def listens(self):
        assert self.process.poll() is None, self.text()
        return "listening on" in self.text()

    def ready(self, running):
        # Connections are spread over both processes: many in a row say that both are.
        return all(running.get("/readiness")[0] == 200 for _ in range(20))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(timeout=DEADLINE) == 0, self.text()
        self.log.close()


class Client(threading.Thread):
    """Asks on a new connection each time until told to stop; keeps what went wrong."""

    def __init__(self, port):
        super().__init__()
        self.port, self.ended, self.answers, self.failures = port, threading.Event(), 0, []
        self.start()

    def run(self):
        while not self.ended.is_set():
            try:
                status, _, body = asks(self.port)
                self.answers += status == 200
                if status != 200:
                    self.failures.append((status, body))
            except OSError as error:
                self.failures.append(repr(error))

    def result(self):
        self.ended.set()
        self.join()
        return self.failures


def test_another_process_takes_over_and_no_stream_is_cut():
    with Engine("--max-running", "1000", "--kv-blocks", "1000000") as engine, Gateway([engine], server=HAND_OVER, grace=60) as running:
        streams = [Stream(running.port, max_tokens=60, sim_interval_ms=100) for _ in range(10)]
        for stream in streams:
            stream.flows()
        with Successor(running) as successor:
            client = Client(running.port)
            wait_for(lambda: client.answers > 20, "requests to both")
            terminate(running)
            wait_for(lambda: "left to who else listens" in running.log_path.read_text(), "the drain")
            before = client.answers
            wait_for(lambda: client.answers > before + 50, "requests to the successor")
            assert [stream.result() for stream in streams] == ["complete"] * 10
            assert running.process.wait(timeout=30 * SLOW) == 0
            failures = client.result()
            # A connection that was made and not yet accepted when the socket closed is reset.
            assert len(failures) <= 1 and all("ConnectionReset" in str(failure) for failure in failures), failures
            assert successor.process.poll() is None


def test_a_kill_during_the_hand_over_loses_the_streams_of_the_dead_only():
    with Engine("--max-running", "1000", "--kv-blocks", "1000000") as engine, Gateway([engine], server=HAND_OVER, grace=60) as running:
        old = [Stream(running.port, max_tokens=600, sim_interval_ms=100) for _ in range(5)]
        for stream in old:
            stream.flows()
        with Successor(running) as successor:
            terminate(running)
            wait_for(lambda: "left to who else listens" in running.log_path.read_text(), "the drain")
            new = [Stream(running.port, max_tokens=30, sim_interval_ms=100) for _ in range(5)]
            for stream in new:
                stream.flows()
            running.process.kill()
            running.process.wait()
            assert [stream.result() for stream in new] == ["complete"] * 5
            assert all(stream.result() != "complete" for stream in old)
            assert asks(running.port)[0] == 200
            wait_for(lambda: engine.state()["running"] == 0, "the engine to be free")
            assert successor.process.poll() is None
        running.process.returncode = 0


def test_without_reuse_port_a_second_process_is_refused():
    with gateway(lambda connection, request: connection.answer()) as (running, _):
        second = subprocess.run([SMG, "launch", "--config", running.config], capture_output=True, text=True, env=ENV, timeout=DEADLINE)
        assert second.returncode == 78 and "cannot listen" in second.stdout + second.stderr
