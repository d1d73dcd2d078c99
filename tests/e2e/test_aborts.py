"""Who leaves early is noticed at once, and half an answer never looks whole."""
import http.client
import json
import socket
import struct
import threading

import pytest

from support import DEADLINE, SLOW, Worker, chat, dial, gateway, post_bytes, read_all, wait_for

REQUEST = post_bytes(json.dumps(chat(stream=True)).encode())


class Watch:
    """A script that notes how long after `left` the worker's connection closed."""

    def __init__(self, before):
        self.before, self.ready, self.closed, self.seconds = before, threading.Event(), threading.Event(), None

    def __call__(self, connection, request):
        self.before(connection)
        self.ready.set()
        self.seconds = connection.wait_closed(DEADLINE)
        self.closed.set()


def leave_by_close(sock):
    sock.close()


def leave_by_reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def silent(connection):
    pass


def mid_stream(connection):
    connection.start_stream()
    connection.event("one")


@pytest.mark.parametrize("leave", [leave_by_close, leave_by_reset])
@pytest.mark.parametrize("before, phase", [(silent, "waiting"), (mid_stream, "streaming")])
def test_a_client_that_leaves_frees_the_worker_within_half_a_second(before, phase, leave):
    watch = Watch(before)
    with gateway(watch) as (running, _):
        sock = dial(running.port)
        sock.sendall(REQUEST)
        assert watch.ready.wait(DEADLINE)
        if phase == "streaming":
            wait_for(lambda: b"one" in sock.recv(4096), "the first event")
        assert running.metric("smg_worker_requests_active") == 1
        leave(sock)
        assert watch.closed.wait(DEADLINE)
        assert watch.seconds is not None and watch.seconds < 0.5 * SLOW
        wait_for(lambda: running.metric("smg_worker_requests_active") == 0, "the gauge to return to 0")
        assert running.metric("smg_http_client_aborts_total", phase=phase) == 1
        assert running.metric("smg_router_request_errors_total") == 0
        assert running.metric("smg_http_connections_active") == 0


def test_a_client_that_leaves_while_it_sends_never_reaches_a_worker():
    with gateway(silent) as (running, worker):
        sock = dial(running.port)
        sock.sendall(REQUEST[:-5])
        wait_for(lambda: running.metric("smg_http_connections_active") == 1, "the request to be noticed")
        sock.close()
        wait_for(lambda: running.metric("smg_http_client_aborts_total", phase="upload") == 1, "the abort to be counted")
        assert worker.requests == []


def test_a_client_that_leaves_while_it_reads_slowly_frees_the_worker():
    def flood(connection):
        connection.start_stream()
        connection.sock.settimeout(1)
        with pytest.raises(OSError):
            while True:
                connection.event("x" * 8192)

    watch = Watch(flood)
    with gateway(watch) as (running, _):
        sock = dial(running.port)
        sock.sendall(REQUEST)
        assert watch.ready.wait(DEADLINE)
        sock.close()
        assert watch.closed.wait(DEADLINE)
        assert watch.seconds is not None and watch.seconds < 0.5 * SLOW
        wait_for(lambda: running.metric("smg_worker_requests_active") == 0, "the gauge to return to 0")


def died(how):
    def script(connection, request):
        connection.start_stream()
        connection.event("one")
        how(connection)
    return script


def close(connection):
    connection.sock.shutdown(socket.SHUT_RDWR)
    connection.sock.close()


@pytest.mark.parametrize("how", [close, lambda connection: connection.reset()], ids=["fin", "rst"])
def test_a_worker_that_dies_mid_stream_never_looks_like_a_whole_answer(how):
    with gateway(died(how)) as (running, _):
        sock = dial(running.port)
        sock.sendall(REQUEST)
        with pytest.raises(ConnectionResetError):
            while True:
                data = sock.recv(65536)
                assert data, "an orderly close"
                assert not data.endswith(b"0\r\n\r\n")
        assert running.metric("smg_router_responses_cut_total") == 1
        assert running.metric("smg_http_client_aborts_total") == 0


def test_a_worker_that_dies_in_a_short_plain_answer_gives_an_error_instead():
    def script(connection, request):
        connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")
        connection.sock.close()

    with gateway(script) as (running, worker):
        status, headers, body = running.chat()
        assert status == 500
        assert headers["x-smg-error-code"] == "read_response_body_failed"
        assert json.loads(body)["error"]["code"] == "read_response_body_failed"
        assert headers["x-smg-routed-worker-id"] == worker.url
        assert len(worker.requests) == 1
        assert_counted(running, {"500": 1}, errors=1)


def assert_counted(running, responses, errors):
    """Each answer counts once, as what the client got."""
    answers = {"path": "/v1/chat/completions"}
    for status, count in responses.items():
        assert running.metric("smg_http_responses_total", status_code=status, **answers) == count
    assert running.metric("smg_http_responses_total", **answers) == sum(responses.values())
    assert running.metric("smg_http_request_duration_seconds_count", **answers) == sum(responses.values())
    assert running.metric("smg_router_request_duration_seconds_count") == responses.get("200", 0)
    assert running.metric("smg_router_request_errors_total") == errors


@pytest.mark.parametrize("status", ["404 Not Found", "503 Service Unavailable"])
def test_an_error_that_breaks_off_counts_once(status):
    def script(connection, request):
        connection.send(f"HTTP/1.1 {status}\r\ncontent-length: 100\r\n\r\n{{".encode())
        connection.sock.close()

    with gateway(script, args=["--disable-retries"]) as (running, _):
        assert running.chat()[0] == 500
        assert_counted(running, {"500": 1}, errors=1)
        assert running.metric("smg_worker_retries_exhausted_total") == 0


def test_a_client_that_leaves_before_a_short_plain_answer_is_complete_was_waiting():
    def half_an_answer(connection):
        connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")

    watch = Watch(half_an_answer)
    with gateway(watch) as (running, _):
        sock = dial(running.port)
        sock.sendall(post_bytes(json.dumps(chat()).encode()))
        wait_for(lambda: running.metric("smg_router_upstream_responses_total", status_code="200") == 1, "the answer's head")
        sock.close()
        assert watch.closed.wait(DEADLINE)
        wait_for(lambda: running.metric("smg_http_client_aborts_total") == 1, "the abort to be counted")
        assert running.metric("smg_http_client_aborts_total", phase="waiting") == 1
        assert_counted(running, {}, errors=0)


@pytest.mark.parametrize("size", [10, 400_000])
def test_a_plain_answer_counts_once_whether_it_is_held_or_not(size):
    body = b"x" * size
    with gateway(lambda connection, request: connection.answer(body)) as (running, _):
        assert running.chat()[2] == body
        assert_counted(running, {"200": 1}, errors=0)


def test_a_worker_that_dies_in_a_long_plain_answer_resets_the_client():
    def script(connection, request):
        connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 9000000\r\n\r\n" + b"x" * 1000000)
        connection.sock.close()

    with gateway(script) as (running, _):
        sock = dial(running.port)
        sock.sendall(post_bytes(json.dumps(chat()).encode()))
        with pytest.raises(ConnectionResetError):
            read_all(sock)


def test_a_stale_connection_is_met_with_one_silent_resend():
    turns = []

    def script(connection, request):
        turns.append(connection)
        connection.answer(b"{}")
        if len(turns) == 1:
            # Close only when the next request is there: no chance to notice before.
            connection.read_request()
            connection.reset()

    with gateway(script, loops=1) as (running, worker):
        assert running.chat()[0] == 200
        assert running.chat()[0] == 200
        assert running.metric("smg_router_upstream_send_retries_total") == 1
        assert len(worker.requests) == 2


def test_a_worker_that_is_down_is_an_error_with_its_code_after_all_attempts():
    worker = Worker()
    try:
        from support import Gateway
        with Gateway([worker]) as running:
            worker.close()
            status, headers, body = running.chat()
            assert status == 500
            assert headers["x-smg-error-code"] == "call_upstream_request_error"
            assert running.metric("smg_router_upstream_responses_total", error_code="call_upstream_request_error") == 5
    finally:
        worker.close()


def test_a_retryable_answer_is_tried_again_elsewhere():
    bad = lambda connection, request: connection.answer(b"no", "503 Service Unavailable")
    with gateway(bad, lambda connection, request: connection.answer(b"yes")) as (running, *_):
        for _ in range(6):
            assert running.chat()[2] == b"yes"


def test_a_refused_attempt_leaves_its_connection_for_the_next():
    seen = []

    def script(connection, request):
        seen.append(connection)
        if len(seen) < 4:
            connection.answer(b"busy" * 1000, "503 Service Unavailable")
        else:
            connection.answer(b"yes")

    with gateway(script, loops=1) as (running, _):
        assert running.chat()[2] == b"yes"
        assert len(seen) == 4 and len(set(seen)) == 1
        assert running.metric("smg_worker_requests_active") == 0


@pytest.mark.parametrize("body", [b"", b"x" * 100_000], ids=["stalls", "is long"])
def test_a_refusal_that_does_not_end_does_not_hold_up_the_retry(body):
    closed = threading.Event()

    def script(connection, request):
        if len(worker.requests) == 1:
            connection.send(b"HTTP/1.1 503 Busy\r\ncontent-length: 1000000\r\n\r\n" + body)
            connection.wait_closed(DEADLINE)
            closed.set()
        else:
            connection.answer(b"yes")

    with gateway(script) as (running, worker):
        assert running.chat()[2] == b"yes"
        assert closed.wait(DEADLINE)
        assert running.metric("smg_worker_requests_active") == 0


def test_an_answer_that_is_not_retryable_passes_as_it_is():
    with gateway(lambda connection, request: connection.answer(b"bad", "422 Unprocessable Entity")) as (running, worker):
        assert running.chat()[0::2] == (422, b"bad")
        assert len(worker.requests) == 1


def test_a_request_that_takes_too_long_is_a_timeout():
    with gateway(lambda connection, request: connection.wait_closed(DEADLINE), server="request_timeout_secs = 1",
                 extra="[retry]\ndisabled = true") as (running, _):
        status, headers, _ = running.chat()
        assert (status, headers["x-smg-error-code"]) == (504, "call_upstream_timeout")
