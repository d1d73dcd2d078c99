"""Raw messages: each gets the answer that the specification names, and no worker sees a request that nobody meant.

One row is one conversation: what the client sends, the statuses it gets, whether the connection ends, and how many
requests reach the worker.
"""
import json
import socket

import pytest

from support import DEADLINE, SLOW, Gateway, Worker, chat, dial, read_all, wait_for

BODY = json.dumps(chat()).encode()
N = len(BODY)
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n"
GET = b"GET /health HTTP/1.1\r\nHost: g\r\n\r\n"
SMUGGLED = b"POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\nX"


def head(*lines):
    return HEAD + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


def length(n):
    return b"Content-Length: %d" % n


def chunked(*chunks):
    return head(b"Transfer-Encoding: chunked") + b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in chunks) + b"0\r\n\r\n"


OPEN, CLOSED = False, True

# name: bytes, statuses, closed by the gateway, requests at the worker
CONVERSATIONS = {
    "a plain request": (head(length(N)) + BODY, [200], OPEN, 1),
    "a chunked request": (chunked(BODY[:10], BODY[10:]), [200], OPEN, 1),
    "chunk extensions and trailers": (
        head(b"Transfer-Encoding: chunked") + b"%x;a=b;c=\"d\"\r\n%s\r\n0\r\nX-T: 1\r\n\r\n" % (N, BODY), [200], OPEN, 1),
    "a length with leading zeros": (head(b"Content-Length: 00%d" % N) + BODY, [200], OPEN, 1),
    "a tab behind the colon": (head(b"X-Tab:\tv", length(N)) + BODY, [200], OPEN, 1),
    "high bytes in a value": (head(b"X-Name: \xc3\xa9\xff", length(N)) + BODY, [200], OPEN, 1),
    "a blank line before the request": (b"\r\n" + head(length(N)) + BODY, [200], OPEN, 1),
    "absolute form": (b"GET http://other/health HTTP/1.1\r\nHost: g\r\n\r\n", [200], OPEN, 0),
    "two pipelined requests": (2 * (head(length(N)) + BODY), [200, 200], OPEN, 2),
    "a pipelined pair of different kinds": (GET + head(length(N)) + BODY + GET, [200, 200, 200], OPEN, 1),
    "HEAD of a known path": (b"HEAD /health HTTP/1.1\r\nHost: g\r\n\r\n" + GET, [200, 200], OPEN, 0),
    "HTTP/1.0 closes": (b"GET /health HTTP/1.0\r\n\r\n", [200], CLOSED, 0),
    "HTTP/1.0 with keep-alive": (b"GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", [200], OPEN, 0),
    "Connection: close": (b"GET /health HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n" + GET, [200], CLOSED, 0),
    "an unknown path": (b"GET /nowhere HTTP/1.1\r\nHost: g\r\n\r\n", [404], OPEN, 0),
    "a wrong method": (b"GET /v1/chat/completions HTTP/1.1\r\nHost: g\r\n\r\n", [405], OPEN, 0),
    "a wrong method with a body": (b"PUT /health HTTP/1.1\r\nHost: g\r\nContent-Length: 3\r\n\r\nabc" + GET, [405, 200], OPEN, 0),
    "length before encoding": (head(length(5), b"Transfer-Encoding: chunked") + b"0\r\n\r\n" + SMUGGLED, [400], CLOSED, 0),
    "encoding before length": (head(b"Transfer-Encoding: chunked", length(5)) + b"0\r\n\r\n" + SMUGGLED, [400], CLOSED, 0),
    "encoding xchunked": (head(b"Transfer-Encoding: xchunked") + SMUGGLED, [400], CLOSED, 0),
    "encoding identity": (head(b"Transfer-Encoding: identity") + SMUGGLED, [400], CLOSED, 0),
    "encoding gzip, chunked": (head(b"Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n", [400], CLOSED, 0),
    "encoding chunked, gzip": (head(b"Transfer-Encoding: chunked, gzip") + b"0\r\n\r\n", [400], CLOSED, 0),
    "encoding twice": (head(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked") + b"0\r\n\r\n", [400], CLOSED, 0),
    "encoding in HTTP/1.0": (chunked(BODY).replace(b"HTTP/1.1", b"HTTP/1.0"), [400], CLOSED, 0),
    "two equal lengths": (head(length(N), length(N)) + BODY, [400], CLOSED, 0),
    "two different lengths": (head(length(N), length(1)) + BODY, [400], CLOSED, 0),
    "a list of lengths": (head(b"Content-Length: %d,%d" % (N, N)) + BODY, [400], CLOSED, 0),
    "a length with a plus": (head(b"Content-Length: +%d" % N) + BODY, [400], CLOSED, 0),
    "a negative length": (head(b"Content-Length: -1") + BODY, [400], CLOSED, 0),
    "a hexadecimal length": (head(b"Content-Length: 0x10") + BODY, [400], CLOSED, 0),
    "a length with a blank": (head(b"Content-Length: 1 0") + BODY, [400], CLOSED, 0),
    "an empty length": (head(b"Content-Length:") + BODY, [400], CLOSED, 0),
    "a length beyond 64 bits": (head(b"Content-Length: 18446744073709551616") + BODY, [400], CLOSED, 0),
    "a length above the limit": (head(b"Content-Length: 2000000") + BODY, [413], CLOSED, 0),
    "chunks above the limit": (head(b"Transfer-Encoding: chunked") + b"1e8480\r\n", [400], CLOSED, 0),
    "bare line feeds": (head(length(N)).replace(b"\r\n", b"\n") + BODY, [400], CLOSED, 0),
    "one bare line feed": (HEAD + b"X: 1\nY: 2\r\n\r\n", [400], CLOSED, 0),
    "a bare carriage return": (HEAD + b"X: 1\rY: 2\r\n\r\n", [400], CLOSED, 0),
    "a folded line": (HEAD + b"X: 1\r\n folded\r\n\r\n", [400], CLOSED, 0),
    "a blank before the colon": (HEAD + b"X : 1\r\n\r\n", [400], CLOSED, 0),
    "a blank in a name": (HEAD + b"X Y: 1\r\n\r\n", [400], CLOSED, 0),
    "an empty name": (HEAD + b": 1\r\n\r\n", [400], CLOSED, 0),
    "no colon": (HEAD + b"nonsense\r\n\r\n", [400], CLOSED, 0),
    "a zero byte in a value": (HEAD + b"X: a\x00b\r\n\r\n", [400], CLOSED, 0),
    "a control byte in a value": (HEAD + b"X: a\x01b\r\n\r\n", [400], CLOSED, 0),
    "no Host": (b"GET /health HTTP/1.1\r\n\r\n", [400], CLOSED, 0),
    "two Hosts": (b"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", [400], CLOSED, 0),
    "HTTP/0.9": (b"GET /health\r\n\r\n", [400], CLOSED, 0),
    "HTTP/1.2": (GET.replace(b"1.1", b"1.2"), [505], CLOSED, 0),
    "HTTP/2.0": (GET.replace(b"1.1", b"2.0"), [505], CLOSED, 0),
    "two blanks in the request line": (GET.replace(b" /", b"  /"), [400], CLOSED, 0),
    "a lower-case method": (GET.replace(b"GET", b"get"), [501], CLOSED, 0),
    "an unknown method": (GET.replace(b"GET", b"BREW"), [501], CLOSED, 0),
    "CONNECT": (b"CONNECT a:1 HTTP/1.1\r\nHost: g\r\n\r\n", [501], CLOSED, 0),
    "a fragment in the target": (GET.replace(b"/health", b"/health#x"), [400], CLOSED, 0),
    "a high byte in the target": (GET.replace(b"/health", b"/h\xe9"), [400], CLOSED, 0),
    "a huge head": (b"GET /health HTTP/1.1\r\nHost: g\r\n" + b"X: " + b"y" * 70000 + b"\r\n\r\n", [431], CLOSED, 0),
    "101 fields": (b"GET /health HTTP/1.1\r\nHost: g\r\n" + b"X: y\r\n" * 100 + b"\r\n", [431], CLOSED, 0),
    "a chunk size with a sign": (head(b"Transfer-Encoding: chunked") + b"+5\r\nhello\r\n0\r\n\r\n", [400], CLOSED, 0),
    "a chunk size with a prefix": (head(b"Transfer-Encoding: chunked") + b"0x5\r\nhello\r\n0\r\n\r\n", [400], CLOSED, 0),
    "junk behind a chunk size": (head(b"Transfer-Encoding: chunked") + b"5 z\r\nhello\r\n0\r\n\r\n", [400], CLOSED, 0),
    "a chunk size that overflows": (head(b"Transfer-Encoding: chunked") + b"fffffffffffffffff\r\n", [400], CLOSED, 0),
    "more data than the chunk says": (head(b"Transfer-Encoding: chunked") + b"5\r\nhello!\r\n0\r\n\r\n", [400], CLOSED, 0),
    "a chunk line that does not end": (head(b"Transfer-Encoding: chunked") + b"5;" + b"x" * 20000, [400], CLOSED, 0),
    "a missing content type and a body too long to be dropped": (
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\n" + length(70000) + b"\r\n\r\n", [400], CLOSED, 0),
    "a missing content type": (b"POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\n" + length(N) + b"\r\n\r\n" + BODY, [400], OPEN, 0),
    "an unknown expectation": (head(b"Expect: the-unexpected", length(N)) + BODY, [417], CLOSED, 0),
}


@pytest.fixture(scope="module")
def place():
    worker = Worker()
    with Gateway([worker], server="max_payload_size = 1000000") as running:
        yield running, worker
    worker.__exit__()


def statuses(data):
    """The statuses of a run of answers, and what is left over."""
    found = []
    while data:
        start, _, rest = data.partition(b"\r\n\r\n")
        lines = start.split(b"\r\n")
        status = int(lines[0].split(b" ")[1])
        fields = {key.lower(): value for key, value in (line.split(b": ", 1) for line in lines[1:])}
        found.append((status, fields))
        data = rest[int(fields.get(b"content-length", b"0")):] if not rest.startswith(b"HTTP/1.1 ") else rest
    return found


def talk(port, data, expected, closes, pieces=None):
    with dial(port) as sock:
        try:
            if pieces is None:
                sock.sendall(data)
            else:
                for at in range(0, len(data), pieces):
                    sock.sendall(data[at:at + pieces])
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused while still being sent
        got = b""

        def arrived():
            nonlocal got
            sock.settimeout(0.05)
            try:
                part = sock.recv(1 << 16)
            except TimeoutError:
                return got.count(b"HTTP/1.1 ") >= len(expected)
            except ConnectionResetError:
                return True
            got += part
            return part == b""
        wait_for(arrived, f"answers {expected}, got {got[:300]!r}")
        assert [status for status, _ in statuses(got)] == expected, got[:500]
        if closes:
            sock.settimeout(DEADLINE)
            try:
                assert read_all(sock) == b""
            except ConnectionResetError:
                pass
        else:
            sock.settimeout(DEADLINE)
            sock.sendall(GET)
            more = b""
            while b"\r\n\r\nOK" not in more:
                part = sock.recv(1 << 16)
                assert part, "the connection ended although it should go on"
                more += part


@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.parametrize("pieces", [None, 1, 7], ids=["whole", "byte by byte", "in sevens"])
def test_conversation(place, name, pieces):
    running, worker = place
    data, expected, closes, reached = CONVERSATIONS[name]
    if pieces == 1 and len(data) > 20000:
        pieces = 997
    before = len(worker.requests)
    talk(running.port, data, expected, closes, pieces)
    assert len(worker.requests) - before == reached


def test_expect_100_continue_is_answered_before_the_body_comes(place):
    running, worker = place
    with dial(running.port) as sock:
        sock.sendall(head(b"Expect: 100-continue", length(N)))
        assert sock.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(BODY)
        assert sock.recv(4096).startswith(b"HTTP/1.1 200 OK\r\n")
    assert worker.requests[-1].body == BODY


def test_expect_100_continue_with_a_body_that_is_too_large_is_refused_at_once(place):
    running, worker = place
    before = len(worker.requests)
    with dial(running.port) as sock:
        sock.sendall(head(b"Expect: 100-continue", length(2000000)))
        answer = read_all(sock)
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b"100 Continue" not in answer
    assert len(worker.requests) == before


def test_a_client_that_closes_its_side_after_a_local_request_still_gets_the_answer(place):
    running, _ = place
    with dial(running.port) as sock:
        sock.sendall(GET)
        sock.shutdown(socket.SHUT_WR)
        assert read_all(sock).endswith(b"\r\n\r\nOK")


def test_a_client_that_closes_its_side_while_a_worker_thinks_counts_as_gone(place):
    running, worker = place
    closed = []

    def script(connection, request):
        closed.append(connection.wait_closed(DEADLINE))
    worker.script, old = script, worker.script
    try:
        with dial(running.port) as sock:
            before = len(worker.requests)
            sock.sendall(head(length(N)) + BODY)
            wait_for(lambda: len(worker.requests) > before, "the request at the worker")
            sock.shutdown(socket.SHUT_WR)
            assert read_all(sock) == b""
        wait_for(lambda: closed, "the worker's connection to close")
        assert closed[0] is not None and closed[0] < 0.5 * SLOW
    finally:
        worker.script = old


@pytest.mark.parametrize("answer, status, code", [
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", 502, "call_upstream_decode_error"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 502, "call_upstream_decode_error"),
    (b"HTTP/1.1 banana\r\n\r\n", 502, "call_upstream_decode_error"),
    (b"SSH-2.0-OpenSSH\r\n\r\n", 502, "call_upstream_decode_error"),
    (b"HTTP/1.1 200 OK\r\nX: 1\r\n fold\r\n\r\n", 502, "call_upstream_decode_error"),
    (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", 200, None),
    (b"HTTP/1.1 204 No Content\r\n\r\n", 204, None),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, None),
])
def test_what_a_worker_answers(answer, status, code):
    def script(connection, request):
        connection.send(answer)
        connection.sock.shutdown(socket.SHUT_RDWR)

    worker = Worker(script)
    with Gateway([worker], extra="[retry]\ndisabled = true") as running:
        got, headers, body = running.chat()
        assert (got, headers["x-smg-error-code"]) == (status, code), body
    worker.__exit__()


def test_an_answer_without_framing_is_passed_on_until_its_end():
    def script(connection, request):
        connection.send(b"HTTP/1.1 200 OK\r\n\r\n" + b"to the end")
        connection.sock.shutdown(socket.SHUT_RDWR)

    worker = Worker(script)
    with Gateway([worker]) as running:
        for _ in range(2):
            assert running.chat()[0::2] == (200, b"to the end")
    worker.__exit__()


def test_bytes_behind_an_answer_are_never_taken_for_the_next_one():
    def script(connection, request):
        connection.answer(b"mine")
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")

    worker = Worker(script)
    with Gateway([worker], loops=1) as running:
        for _ in range(5):
            assert running.chat()[2] == b"mine"
    worker.__exit__()
