"""Bytes arrive as they were sent, whatever their number and however they are cut."""
import hashlib
import http.client
import json
import random
import threading
import time

import pytest

from support import SLOW, PRESET, chat, gateway, wait_for

LARGE = [26] if PRESET == "release" else []
SIZES = sorted({0, 1, *(2**k + d for k in [8, 10, 12, 14, 16, 17, 20, 24, *LARGE] for d in (-1, 0, 1))})


def noise(size):
    return random.Random(size).randbytes(size)


def test_answers_of_any_size_arrive_unchanged_with_length_and_chunked():
    def script(connection, request):
        wish = request.json()
        connection.answer(noise(wish["size"]), chunked=wish["chunked"], piece=wish["piece"],
                          headers=[("content-type", "application/octet-stream")])

    with gateway(script) as (running, _):
        for size in SIZES:
            for chunked in (False, True):
                status, headers, body = running.chat(size=size, chunked=chunked, piece=max(1, size // 7))
                assert status == 200
                assert len(body) == size
                assert hashlib.sha256(body).digest() == hashlib.sha256(noise(size)).digest()
                assert headers["content-type"] == "application/octet-stream"
                assert (headers["content-length"] is None) == chunked


def padded(size):
    """A chat request of exactly that many bytes."""
    bare = len(json.dumps(chat(content="", pad=""))) + 1
    return json.dumps(chat(content="x", pad="p" * (size - bare))).encode()


@pytest.mark.parametrize("chunked", [False, True])
def test_requests_of_any_size_arrive_unchanged(chunked):
    def script(connection, request):
        connection.answer(hashlib.sha256(request.body).hexdigest().encode())

    with gateway(script) as (running, worker):
        for size in SIZES:
            if size < 200:
                continue
            body = padded(size)
            assert len(body) == size
            headers = {"Content-Type": "application/json"}
            connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60 * SLOW)
            if chunked:
                step = max(1, size // 5)
                parts = (body[at:at + step] for at in range(0, size, step))
                connection.request("POST", "/v1/chat/completions", parts, headers, encode_chunked=True)
            else:
                connection.request("POST", "/v1/chat/completions", body, headers)
            response = connection.getresponse()
            assert response.status == 200
            assert response.read().decode() == hashlib.sha256(body).hexdigest()
            connection.close()
            assert worker.requests[-1].header("content-length") == str(size)


def test_a_stream_sent_byte_by_byte_arrives_unchanged():
    text = "".join(f"data: {{\"t\":\"héllo – 世界 🚀 {i}\"}}\n\n" for i in range(60)).encode() + b"data: [DONE]\n\n"

    def script(connection, request):
        connection.start_stream()
        for at in range(len(text)):
            connection.send(b"1\r\n" + text[at:at + 1] + b"\r\n")
        connection.end_stream()

    with gateway(script) as (running, _):
        status, headers, body = running.chat(stream=True)
        assert (status, body) == (200, text)
        assert headers["content-type"] == "text/event-stream"


def test_chunk_framing_cut_anywhere_arrives_unchanged():
    events = [f"data: {i} ☃\n\n".encode() for i in range(20)]
    wire = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(event), event) for event in events) + b"0\r\nX-Trailer: 1\r\n\r\n"

    def script(connection, request):
        connection.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        for at in range(len(wire)):
            connection.send(wire[at:at + 1])

    with gateway(script) as (running, _):
        for _ in range(3):
            assert running.chat(stream=True)[2] == b"".join(events)


def test_each_event_is_passed_on_before_the_next_comes():
    release = threading.Semaphore(0)

    def script(connection, request):
        connection.start_stream()
        for i in range(20):
            connection.event(i)
            assert release.acquire(timeout=20 * SLOW)
        connection.end_stream()

    with gateway(script) as (running, _):
        client = http.client.HTTPConnection("127.0.0.1", running.port, timeout=20 * SLOW)
        client.request("POST", "/v1/chat/completions", json.dumps(chat(stream=True)), {"Content-Type": "application/json"})
        response = client.getresponse()
        for i in range(20):
            assert response.readline() == f"data: {i}\n".encode()
            assert response.readline() == b"\n"
            release.release()
        assert response.read() == b""


def test_32_streams_at_once_do_not_mix():
    def script(connection, request):
        name = request.json()["name"]
        connection.start_stream()
        for i in range(50):
            connection.event(f"{name}-{i}")
        connection.end_stream()

    with gateway(script, script) as (running, *_):
        results = {}

        def client(name):
            results[name] = running.chat(stream=True, name=name)[2]

        threads = [threading.Thread(target=client, args=(i,)) for i in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name in range(32):
            assert results[name] == b"".join(f"data: {name}-{i}\n\n".encode() for i in range(50))
        wait_for(lambda: running.metric("smg_worker_requests_active") == 0, "all requests to be accounted for")


def test_a_slow_reader_slows_the_worker_and_loses_nothing():
    size = 24 << 20
    sent = []

    def script(connection, request):
        connection.start_stream()
        block = b"x" * 65536
        for at in range(0, size, len(block)):
            connection.send(b"%x\r\n" % len(block) + block + b"\r\n")
            sent.append(at)
        connection.end_stream()

    with gateway(script) as (running, _):
        client = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60 * SLOW)
        client.request("POST", "/v1/chat/completions", json.dumps(chat(stream=True)), {"Content-Type": "application/json"})
        response = client.getresponse()
        # Nothing is read: the worker must come to a stand with far less than everything on the way.
        previous = [-1, 0.0]

        def at_rest():
            if len(sent) != previous[0]:
                previous[:] = [len(sent), time.monotonic()]
            return time.monotonic() - previous[1] > 0.5
        wait_for(at_rest, "the worker to be slowed down")
        assert len(sent) * 65536 < size
        total = 0
        while data := response.read(1 << 20):
            assert data.count(b"x") == len(data)
            total += len(data)
        assert total == size


def test_unknown_fields_and_number_formats_pass_untouched():
    body = b'{ "model":"m", "messages":[{"role":"user","content":"\\u00e9"}],"x":1.50e+3 ,"big":12345678901234567890,"n":[ ]}'
    with gateway(lambda connection, request: connection.answer(request.body)) as (running, _):
        assert running.post("/v1/chat/completions", body)[2] == body


def test_keys_at_their_defaults_are_stripped_and_nothing_else_changes():
    body = b'{"top_k":null,"model":"m","ignore_eos":false , "messages":[{"role":"user","content":"x"}],"min_p":0.1,"regex":null}'
    with gateway(lambda connection, request: connection.answer(request.body)) as (running, _):
        answer = running.post("/v1/chat/completions", body)[2]
        assert json.loads(answer) == {"model": "m", "messages": [{"role": "user", "content": "x"}], "min_p": 0.1}
