"""What an attack on the gateway found once, each as it was done."""
import json
import socket
import subprocess
import threading

import pytest

from support import DEADLINE, ENV, SLOW, SMG, Gateway, Worker, chat, dial, free_port, gateway, post_bytes, wait_for

REQUEST = post_bytes(json.dumps(chat()).encode())


def memory(running):
    with open(f"/proc/{running.process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) // 1024


def test_what_an_engine_said_unasked_before_a_request_is_not_its_answer():
    said = threading.Semaphore(0)

    def script(connection, request):
        connection.answer(request.json()["messages"][0]["content"].encode())
        connection.answer(b"unasked")
        said.release()

    with gateway(script, loops=1) as (running, _):
        for i in range(300):
            status, _, body = running.chat(content=f"mine {i}")
            assert (status, body) == (200, f"mine {i}".encode())
            assert said.acquire(timeout=DEADLINE)


def test_a_client_that_pipelines_and_never_reads_costs_bounded_memory():
    with gateway(lambda connection, request: connection.answer(), loops=1) as (running, _):
        before = memory(running)
        with dial(running.port) as client:
            client.settimeout(0.5)
            requests = b"GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n" * 2000
            sent = 0
            try:
                while sent < 100_000_000:
                    sent += client.send(requests)
            except TimeoutError:
                pass
            assert sent < 100_000_000, "the gateway never stopped reading"
            assert memory(running) - before < 16 * SLOW
            # It is served again as soon as it reads.
            client.settimeout(DEADLINE)
            got = 0
            while got < 1_000_000:
                got += len(client.recv(1 << 16))
        assert running.get("/health")[0] == 200


@pytest.mark.parametrize("behind", [300_000, 4_000_000])
def test_a_client_that_sends_far_ahead_and_leaves_frees_its_engine(behind):
    closed = threading.Event()

    def script(connection, request):
        if connection.wait_closed(DEADLINE) is not None:
            closed.set()

    with gateway(script) as (running, worker):
        client = dial(running.port)
        client.setblocking(False)
        data = REQUEST + REQUEST * (behind // len(REQUEST))
        sent = 0
        while sent < len(data):
            try:
                sent += client.send(data[sent:])
            except (BlockingIOError, OSError):
                break
        wait_for(lambda: worker.requests or closed.is_set(), "the first request")
        client.close()
        assert closed.wait(DEADLINE)
        wait_for(lambda: running.metric("smg_worker_requests_active") == 0, "the gauge to return to 0")


def test_slow_scrapes_do_not_shut_the_metrics_listener():
    with gateway(lambda connection, request: connection.answer()) as (running, _):
        slow = []
        for _ in range(8):
            one = socket.create_connection(("127.0.0.1", running.metrics_port))
            one.sendall(b"GET /metrics HTT")
            slow.append(one)
        assert "smg_http_requests_total" in running.metrics()
        for one in slow:
            one.close()


def test_a_stream_of_http_1_0_that_the_gateway_cuts_is_reset():
    """Its end is the end of the connection: a clean close would make the cut look whole."""

    def script(connection, request):
        connection.start_stream()
        connection.event("one")
        connection.wait_closed(DEADLINE)

    worker = Worker(script)
    try:
        with Gateway([worker]) as running:
            client = dial(running.port)
            body = json.dumps(chat(stream=True)).encode()
            client.sendall(b"POST /v1/chat/completions HTTP/1.0\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            client.settimeout(DEADLINE)
            seen = b""
            while b"one" not in seen:
                seen += client.recv(1 << 16)
            running.process.terminate()
            with pytest.raises(ConnectionResetError):
                while client.recv(1 << 16):
                    pass
            client.close()
    finally:
        worker.close()


def test_two_gateways_do_not_share_a_port():
    with gateway(lambda connection, request: connection.answer()) as (running, worker):
        text = running.config.read_text().replace(f"port = {running.metrics_port}", "port = 1")
        second = running.config.parent / "second.toml"
        second.write_text(text.replace("port = 1\n", f"port = {free_port()}\n"))
        result = subprocess.run([SMG, "launch", "--config", second], capture_output=True, text=True, env=ENV,
                                timeout=30 * SLOW)
        assert result.returncode != 0
        assert "in use" in result.stdout + result.stderr
