"""What clients may hold of the gateway: time, connections, streams, descriptors."""
import contextlib
import http.client
import json
import os
import resource
import selectors
import socket
import subprocess
import sys
import threading
import time

import pytest
from engines import Engine
from observe import Stream, becomes
from support import DEADLINE, ENV, SLOW, Gateway, chat, dial, gateway, post_bytes, read_all, wait_for

FAST = "[limits]\nheader_timeout_secs = 1\nbody_timeout_secs = 1\nidle_timeout_secs = 1\nwrite_timeout_secs = 1\n"


def answers(connection, request):
    connection.answer()


def ends(sock, within):
    """All that still comes, and how long the end took."""
    begun = time.monotonic()
    sock.settimeout(within)
    with contextlib.suppress(ConnectionResetError):
        data = read_all(sock)
        return data, time.monotonic() - begun
    return b"", time.monotonic() - begun


def test_a_head_that_does_not_end_is_answered_408():
    with gateway(answers, extra=FAST) as (running, _):
        with dial(running.port) as sock:
            sock.sendall(b"GET /health HTTP/1.1\r\nHost: g\r\n")
            data, took = ends(sock, DEADLINE)
            assert data.startswith(b"HTTP/1.1 408 ") and took > 0.9
        assert running.metric("smg_http_limit_rejections_total", limit="header_timeout") == 1


def test_a_trickle_does_not_prolong_the_time_for_a_head():
    with gateway(answers, extra=FAST) as (running, _), dial(running.port) as sock:
        begun, sent = time.monotonic(), 0

        def cut():
            nonlocal sent
            try:
                sock.sendall(b"GET /health HTTP/1.1\r\nHost: g\r\nX: "[sent:sent + 1] or b"x")
                sent += 1
            except OSError:
                return True
            return wait_a_little(sock)

        wait_for(cut, "the trickle to be ended")
        assert time.monotonic() - begun > 0.9


def wait_a_little(sock):
    """True when the peer has answered or closed."""
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return bool(selector.select(0.1))


@pytest.mark.parametrize("pace", ["silent", "trickle"])
def test_a_body_that_does_not_come_is_answered_408(pace):
    with gateway(answers, extra=FAST) as (running, _), dial(running.port) as sock:
        sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{")

        def answered():
            if pace == "trickle":
                with contextlib.suppress(OSError):
                    sock.sendall(b" ")
            return wait_a_little(sock)

        wait_for(answered, "the answer")
        assert read_all(sock).startswith(b"HTTP/1.1 408 ")
        assert running.metric("smg_http_limit_rejections_total", limit="body_timeout") == 1


def test_a_long_body_that_keeps_coming_is_taken():
    with gateway(answers, extra=FAST) as (running, worker), dial(running.port) as sock:
        body = json.dumps(chat(content="x" * 100000)).encode()
        data = post_bytes(body)
        begun = time.monotonic()
        for at in range(0, len(data), 6000):
            sock.sendall(data[at:at + 6000])
            wait_a_little(sock)
        sock.settimeout(DEADLINE)
        assert sock.recv(100).startswith(b"HTTP/1.1 200 ")
        assert time.monotonic() - begun > 1.2
        assert worker.requests[-1].json()["messages"][0]["content"] == "x" * 100000


def test_an_idle_connection_is_closed():
    with gateway(answers, extra=FAST) as (running, _), dial(running.port) as sock:
        sock.sendall(b"GET /health HTTP/1.1\r\nHost: g\r\n\r\n")
        data, took = ends(sock, DEADLINE)
        assert data.endswith(b"OK") and 0.9 < took < DEADLINE


def test_a_client_that_does_not_read_is_cut_and_the_engine_is_free():
    with Engine("--kv-blocks", "1000000") as engine, Gateway([engine], extra=FAST) as running:
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.connect(("127.0.0.1", running.port))
            sock.sendall(post_bytes(json.dumps(chat(stream=True, max_tokens=1_000_000, sim_tokens=1_000_000, sim_interval_ms=0)).encode()))
            wait_for(lambda: engine.state()["running"] == 1, "the stream to run")
            becomes(running, "smg_http_limit_rejections_total", 1, limit="write_timeout")
            wait_for(lambda: engine.state()["running"] == 0, "the engine to be free")


def test_a_stream_that_says_nothing_is_cut_and_comments_count_as_words():
    release = threading.Event()

    def silent(connection, request):
        connection.start_stream()
        connection.event("one")
        if request.json()["max_tokens"] == 2:
            # Longer than the limit as a whole, never silent for as long.
            for _ in range(8):
                connection.send(chunk(b": still here\n\n"))
                release.wait(0.3)
            connection.end_stream()
        else:
            release.wait(DEADLINE)

    with gateway(silent, extra="[limits]\nstream_idle_timeout_secs = 1\n") as (running, _):
        talks = Stream(running.port, max_tokens=2)
        assert talks.result() == "complete" and b": still here" in talks.data
        mute = Stream(running.port, max_tokens=1)
        assert mute.result() != "complete" and b"one" in mute.data
        assert running.metric("smg_http_limit_rejections_total", limit="stream_idle_timeout") == 1
        assert running.metric("smg_http_streams_active") == 0
        release.set()


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def test_streams_above_the_limit_are_answered_503():
    with Engine() as engine, Gateway([engine], extra="[limits]\nmax_streams = 2\n") as running:
        streams = [Stream(running.port, max_tokens=1000, sim_interval_ms=50) for _ in range(2)]
        for stream in streams:
            stream.flows()
        status, headers, body = running.chat(stream=True)
        assert status == 503 and headers["retry-after"] == "1" and json.loads(body)["error"]["code"] == "too_many_streams"
        assert running.chat(max_tokens=1)[0] == 200, "what is no stream is not counted"
        for stream in streams:
            stream.leave()
        becomes(running, "smg_http_streams_active", 0)
        after = Stream(running.port, max_tokens=2)
        assert after.result() == "complete"


def test_connections_above_the_limit_are_answered_503_but_probes_get_through():
    with gateway(answers, extra="[limits]\nmax_connections = 8\n") as (running, _):
        kept = []
        for _ in range(8):
            connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=DEADLINE)
            connection.request("GET", "/health")
            assert connection.getresponse().read() == b"OK"
            kept.append(connection)
        status, headers, body = running.chat()
        assert status == 503 and headers["connection"] == "close" and headers["retry-after"] == "1"
        assert headers["x-smg-error-code"] == json.loads(body)["error"]["code"] == "too_many_connections"
        assert running.get("/health")[0] == 200
        # Beyond those few, nobody waits for what a client has to say; which one that is, the loops decide.
        with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
            silent = [stack.enter_context(dial(running.port)) for _ in range(5)]
            for sock in silent:
                selector.register(sock, selectors.EVENT_READ)
            (first, _), *_ = selector.select(DEADLINE)
            assert first.fileobj.recv(1000).startswith(b"HTTP/1.1 503 ")
        for connection in kept:
            connection.request("GET", "/readiness")
            assert connection.getresponse().read()
        kept.pop().close()
        wait_for(lambda: running.chat()[0] == 200, "room for another")


@pytest.mark.timeout(600)
def test_slowloris_of_5000_connections_does_not_keep_others_from_being_served():
    count = int(os.environ.get("SMG_TEST_SLOW_CLIENTS", "5000"))
    need_descriptors(2 * count + 1000)
    with Engine("--max-running", "1000") as engine, Gateway([engine], extra="[limits]\nheader_timeout_secs = 5\n") as running:
        before = memory(running)
        slow = Slow(running.port, count)
        try:
            wait_for(lambda: running.metric("smg_http_connections_open") >= count * 0.9, "the slow clients", 60 * SLOW)
            grown = memory(running) - before
            served = [running.chat(max_tokens=2)[0] for _ in range(50)]
            stream = Stream(running.port, max_tokens=50, sim_interval_ms=20)
            assert served == [200] * 50 and stream.result() == "complete"
            assert grown < count * 24 * 1024, f"{grown / count:.0f} bytes a connection"
            wait_for(lambda: running.metric("smg_http_limit_rejections_total", limit="header_timeout") >= count, "the slow ones to be ended", 60 * SLOW)
        finally:
            slow.stop()
        wait_for(lambda: running.metric("smg_http_connections_open") <= 2, "the connections to be gone", 30 * SLOW)
        print(f"{grown / count:.0f} bytes a connection")


class Slow:
    """Clients in a process of their own that send a byte a second each; one that is cut comes back."""

    def __init__(self, port, count):
        self.process = subprocess.Popen([sys.executable, "-c", SLOW_CLIENTS, str(port), str(count)])

    def stop(self):
        self.process.kill()
        self.process.wait()


SLOW_CLIENTS = r"""
import errno, selectors, socket, sys, time
port, count = int(sys.argv[1]), int(sys.argv[2])
line = b"GET /health HTTP/1.1\r\nHost: g\r\nX-Slow: "
clients = []
def fresh():
    sock = socket.socket()
    sock.setblocking(False)
    try:
        sock.connect(("127.0.0.1", port))
    except BlockingIOError:
        pass
    return [sock, 0]
while True:
    begun = time.monotonic()
    while len(clients) < count:
        clients.append(fresh())
    for client in clients:
        sock, at = client
        try:
            sock.send(line[at:at + 1] or b"x")
            client[1] += 1
        except BlockingIOError:
            pass
        except OSError as error:
            if error.errno != errno.ENOTCONN:
                sock.close()
                client[:] = fresh()
    time.sleep(max(0.0, 1 - (time.monotonic() - begun)))
"""


def memory(running):
    """Resident, bytes."""
    with open(f"/proc/{running.process.pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def need_descriptors(count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count:
        pytest.skip(f"the limit of descriptors is {hard}, {count} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))


def test_1000_clients_that_vanish_by_reset_leave_the_engine_free():
    with Engine("--max-running", "2000", "--kv-blocks", "1000000") as engine, Gateway([engine]) as running:
        before = running.descriptors()
        for _ in range(4):
            socks = []
            for _ in range(250):
                sock = dial(running.port)
                sock.sendall(post_bytes(json.dumps(chat(stream=True, max_tokens=10000, sim_tokens=10000, sim_interval_ms=100)).encode()))
                socks.append(sock)
            wait_for(lambda: engine.state()["running"] == 250, "all streams to run", 30 * SLOW)
            for sock in socks:
                assert sock.recv(1)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
                sock.close()
            wait_for(lambda: engine.state()["running"] == 0, "the engine to be free", 30 * SLOW)
        assert running.chat(max_tokens=1)[0] == 200
        assert running.metric("smg_http_client_aborts_total") == 1000
        wait_for(lambda: running.descriptors() <= before + 4, "the descriptors to be given back")


def test_with_256_descriptors_and_1000_clients_some_are_served_and_the_others_are_told():
    with Engine("--max-running", "1000", "--kv-blocks", "1000000") as engine, few_descriptors(256, [engine]) as running:
        served, told, lost = [], [], []

        def ask():
            connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60 * SLOW)
            try:
                connection.request("POST", "/v1/chat/completions", json.dumps(chat(max_tokens=20, sim_interval_ms=50)),
                                   {"Content-Type": "application/json"})
                answer = connection.getresponse()
                body = answer.read()
                (served if answer.status == 200 else told).append((answer.status, body))
            except OSError as error:
                lost.append(repr(error))
            finally:
                connection.close()

        peak = memory(running)
        clients = [threading.Thread(target=ask) for _ in range(1000)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        grown = memory(running) - peak
        print(len(served), "served,", len(told), "told,", len(lost), "lost;", grown, "bytes more")
        assert len(served) >= 80 and len(served) + len(told) + len(lost) == 1000
        assert all(status == 503 and json.loads(body)["error"]["code"] == "too_many_connections" for status, body in told)
        # A reset can overtake the answer of a connection that is not waited for; silence would be a time-out.
        assert not any("timed out" in each for each in lost) and len(lost) < 300, lost[:5]
        assert grown < 64 << 20
        wait_for(lambda: running.metric("smg_http_connections_open") <= 2, "the connections to be gone", 30 * SLOW)
        assert [running.chat(max_tokens=1)[0] for _ in range(20)] == [200] * 20
        assert running.metric("smg_worker_cb_transitions_total") == 0, "the worker is not to blame"


@contextlib.contextmanager
def few_descriptors(count, workers):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    run = subprocess.Popen

    def limited(*args, **options):
        return run(*args, **options, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count)))

    subprocess.Popen = limited
    try:
        running = Gateway(workers)
    finally:
        subprocess.Popen = run
    with running:
        yield running


def test_an_early_answer_is_the_only_one_and_holds_no_place():
    limited = FAST + "[admission]\nmax_concurrent_requests = 1\nqueue_size = 0\n"
    with gateway(answers, extra=limited) as (running, _), dial(running.port) as sock:
        sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n")
        sock.settimeout(DEADLINE)
        first = sock.recv(65536)
        assert first.startswith(b"HTTP/1.1 400 ")
        # The body that was announced never comes; the next client does not wait for it.
        assert running.chat()[0] == 200
        assert read_all(sock) == b"", "one answer to one request"
        responses = [line for line in running.metrics().splitlines()
                     if line.startswith("smg_http_responses_total{") and "/v1/chat/completions" in line]
        assert len(responses) == 2 and all(line.endswith(" 1") for line in responses), responses


def test_events_end_when_other_keys_are_needed_to_see_them():
    with gateway(answers, extra='[auth]\napi_key = "first-key"\n') as (running, _):
        watcher = http.client.HTTPConnection("127.0.0.1", running.port, timeout=DEADLINE)
        watcher.request("GET", "/events", headers={"Authorization": "Bearer first-key"})
        answer = watcher.getresponse()
        assert answer.status == 200 and answer.readline().startswith(b":")
        running.config.write_text(running.config.read_text().replace("first-key", "second-key"))
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            answer.read()
        assert running.get("/events", headers={"Authorization": "Bearer first-key"})[0] == 401
