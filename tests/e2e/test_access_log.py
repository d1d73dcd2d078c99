"""The access log: one line for every request, whatever became of it, and no line that could do harm."""
import datetime
import http.client
import json
import os
import pty
import re
import signal

from support import SLOW, Gateway, Worker, chat, dial, read_all, wait_for

JSON = "[log]\njson = true\n"
KEYS = '[auth]\napi_key = "key-shared"\ntenant_api_keys = ["acme:key-acme"]\n'


def entries(text):
    """The access lines of a JSON log."""
    return [one for one in map(json.loads, text.splitlines()) if one.get("type") == "access"]


def entry_of(running, **fields):
    """The one line whose fields are these, once it is there."""
    def found():
        fits = [one for one in entries(running.log_path.read_text()) if fields.items() <= one.items()]
        assert len(fits) < 2, fits
        return fits
    return wait_for(found, f"an access line with {fields}")[0]


def test_every_request_has_one_line_with_what_became_of_it():
    with Worker() as worker, Gateway([worker], extra=JSON) as running:
        status, headers, body = running.post("/v1/chat/completions", chat(), {"x-request-id": "the-first"})
        assert status == 200
        line = entry_of(running, request_id="the-first")
        assert line | {"timestamp": 0, "duration_ms": 0, "first_byte_ms": 0} == {
            "timestamp": 0, "level": "info", "type": "access", "client": "127.0.0.1", "method": "POST",
            "path": "/v1/chat/completions", "status": 200, "bytes": len(body), "duration_ms": 0, "first_byte_ms": 0,
            "worker": worker.url, "model": "m", "end": "complete", "request_id": "the-first"} | (
                {"tenant": line["tenant"]} if "tenant" in line else {})
        assert 0 < line["first_byte_ms"] <= line["duration_ms"] < 60_000 * SLOW
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d", line["timestamp"])

        assert running.get("/nowhere", {"x-request-id": "the-second"})[0] == 404
        assert entry_of(running, request_id="the-second")["status"] == 404
        # Without an id of its own a request has the one in its answer.
        made = running.post("/v1/chat/completions", chat())[1]["x-request-id"]
        assert entry_of(running, request_id=made)["status"] == 200


def test_a_client_that_leaves_its_stream_is_told_from_one_that_stays():
    def stream(connection, request):
        connection.start_stream()
        connection.event("one")
        connection.wait_closed(30 * SLOW)

    with Worker(stream) as worker, Gateway([worker], extra=JSON) as running:
        sock = dial(running.port)
        body = json.dumps(chat(stream=True)).encode()
        sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nx-request-id: left\r\nContent-Type: application/json\r\n"
                     b"Content-Length: %d\r\n\r\n" % len(body) + body)
        got = b""
        while b"data: one" not in got:
            got += sock.recv(4096)
        sock.close()
        line = entry_of(running, request_id="left")
        assert line["end"] == "client_gone" and line["status"] == 200 and line["bytes"] > 0


def test_neither_queries_nor_keys_are_written_and_control_bytes_are_escaped():
    with Worker() as worker, Gateway([worker.url], extra=JSON + KEYS, ready=False) as running:
        running.wait_listening()
        assert running.post("/v1/chat/completions", chat(), {"Authorization": "Bearer key-wrong", "x-request-id": "wrong"})[0] == 401
        assert entry_of(running, request_id="wrong")["end"] == "refused"
        acme = {"Authorization": "Bearer key-acme"}
        wait_for(lambda: running.post("/v1/chat/completions", chat(), acme)[0] == 200, "the worker to serve")
        assert running.post("/v1/chat/completions", chat(), acme | {"x-request-id": "right"})[0] == 200
        assert entry_of(running, request_id="right")["tenant"] == "auth:acme"
        sock = dial(running.port)
        sock.sendall(b"GET /health?token=key-query HTTP/1.1\r\nHost: g\r\nConnection: close\r\nx-request-id: asked \"x\\\"\r\n\r\n")
        assert read_all(sock).startswith(b"HTTP/1.1 200")
        assert entry_of(running, request_id='asked "x\\"')["path"] == "/health"
        text = running.log_path.read_text()
        for secret in ("key-wrong", "key-acme", "key-shared", "key-query"):
            assert secret not in text


def test_the_file_of_the_log_directory_can_be_moved_away(tmp_path):
    with Worker() as worker, Gateway([worker], extra=f'[log]\ndir = "{tmp_path}"\n') as running:
        log = tmp_path / "access.log"

        def asked(name):
            assert running.get("/health", {"x-request-id": name})[0] == 200
            wait_for(lambda: log.exists() and f"request_id={name}\n" in log.read_text(), f"the line of {name}")

        asked("one")
        log.rename(tmp_path / "access.log.1")
        asked("two")
        assert "request_id=one" not in log.read_text()
        assert "request_id=one" in (tmp_path / "access.log.1").read_text()


def test_the_access_log_can_be_off_and_switched_on_by_a_reload():
    with Worker() as worker, Gateway([worker], extra="[log]\naccess = false\n") as running:
        assert running.get("/health", {"x-request-id": "unseen"})[0] == 200
        running.config.write_text(running.config.read_text().replace("access = false", "access = true"))
        assert running.post("/config/reload", {})[0] == 200
        assert running.get("/health", {"x-request-id": "seen"})[0] == 200
        wait_for(lambda: "request_id=seen" in running.log_path.read_text(), "the line")
        assert "unseen" not in running.log_path.read_text()


def test_a_standard_output_that_nobody_reads_stops_neither_answers_nor_the_end():
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as unread, os.fdopen(writer, "wb") as output:
        with Worker() as worker, Gateway([worker], output=output) as running:
            for _ in range(2000):
                assert running.get("/health")[0] == 200
            lost = wait_for(lambda: running.metric("smg_access_log_dropped_total"), "lines to be dropped")
            assert lost > 0
            running.process.send_signal(signal.SIGTERM)
            assert running.process.wait(timeout=20 * SLOW) == 0
        output.close()
        assert unread.read().count(b" access ") > 0


def test_a_line_says_nothing_of_the_request_before_it_on_the_connection():
    with Worker() as worker, Gateway([worker], extra=JSON + KEYS) as running:
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60 * SLOW)

        def ask(name, **headers):
            connection.request("POST", "/v1/chat/completions", json.dumps(chat()),
                               {"content-type": "application/json", "x-request-id": name, **headers})
            answer = connection.getresponse()
            answer.read()
            return answer.status

        known = {"authorization": "Bearer key-acme"}
        assert ask("known", **known) == 200
        assert ask("unknown") == 401
        refused = entry_of(running, request_id="unknown")
        assert refused["status"] == 401 and not refused.keys() & {"model", "tenant", "worker"}

        assert ask("again", **known) == 200
        connection.putrequest("POST", "/v1/chat/completions")
        for name, value in {"content-type": "application/json", "content-length": "100", "x-request-id": "left", **known}.items():
            connection.putheader(name, value)
        connection.endheaders(b"{")
        connection.close()
        left = entry_of(running, request_id="left")
        assert left["end"] == "client_gone" and left["bytes"] == 0
        assert not left.keys() & {"status", "model", "worker"}


def test_a_terminal_that_nobody_reads_does_not_hold_up_the_end():
    master, slave = pty.openpty()
    with os.fdopen(master, "rb", buffering=0) as screen, os.fdopen(slave, "wb") as output:
        with Worker() as worker, Gateway([worker], output=output) as running:
            for _ in range(500):
                assert running.get("/health")[0] == 200
            wait_for(lambda: running.metric("smg_access_log_dropped_total"), "lines to be dropped")
            running.process.send_signal(signal.SIGTERM)
            assert running.process.wait(timeout=20 * SLOW) == 0
        assert b"\x1b[32minfo \x1b[m listening on" in screen.read(4096)  # in colour


def test_a_full_disk_and_outputs_that_nobody_reads_do_not_hold_up_the_end(tmp_path):
    today = datetime.date.today()
    for day in (today, today + datetime.timedelta(days=1)):
        (tmp_path / f"smg_{day}.log").symlink_to("/dev/full")
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb"), os.fdopen(writer, "wb") as output:
        with Worker() as worker, Gateway([worker], output=output, extra=f'[log]\ndir = "{tmp_path}"\n') as running:
            for _ in range(2000):
                assert running.get("/health")[0] == 200
            running.process.send_signal(signal.SIGTERM)
            assert running.process.wait(timeout=20 * SLOW) == 0
