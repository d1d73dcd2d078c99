"""The SDK's example adapter: a protocol that the gateway has never heard of, behind a transport plugin."""
import contextlib
import json
import select
import signal
import socket
import struct
import subprocess
import sys

from openai import OpenAI

from puppets import Events
from support import BUILD, DEADLINE, ROOT, Gateway, dial, post_bytes, read_all, wait_for

ADAPTER = BUILD / "lib" / "smg" / "examples"
ENGINE = ROOT / "sdk" / "examples" / "vendor-adapter" / "acme_engine.py"


class Acme:
    """A simulated engine, and a connection to it past the gateway."""

    def __init__(self, *args, port=0):
        self.process = subprocess.Popen([sys.executable, ENGINE, "--port", str(port), "--model", "m", *args],
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("ready: "), line
        self.url = line.split()[1]
        self.port = int(self.url.rsplit(":", 1)[1])
        self.direct = dial(self.port)
        self.say({"op": "watch_load", "interval_ms": 50})

    def say(self, frame):
        data = json.dumps(frame).encode()
        self.direct.sendall(struct.pack(">I", len(data)) + data)

    def load(self):
        """The engine's own latest word about its load."""
        frame = None
        while frame is None or select.select([self.direct], [], [], 0)[0]:
            size, = struct.unpack(">I", self.direct.recv(4, socket.MSG_WAITALL))
            frame = json.loads(self.direct.recv(size, socket.MSG_WAITALL))
        return frame

    def wait_load(self, **wanted):
        wait_for(lambda: wanted.items() <= self.load().items(), f"an engine with {wanted}")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.direct.close()
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def adapter(*args, extra="", **options):
    with Acme(*args) as engine, Gateway([engine], plugins=[ADAPTER], extra=extra, **options) as running:
        yield running, engine


def body(content="one two three", **fields):
    return {"model": "m", "messages": [{"role": "user", "content": content}], **fields}


def begin(running, **fields):
    """A stream that is left open; returns its socket once the first bytes have come."""
    sock = dial(running.port)
    sock.sendall(post_bytes(json.dumps(body(stream=True, **fields)).encode()))
    assert sock.recv(1 << 16).startswith(b"HTTP/1.1 200")
    return sock


def test_an_openai_client_is_served_by_an_engine_of_another_protocol():
    with adapter() as (running, _), OpenAI(base_url=f"http://127.0.0.1:{running.port}/v1", api_key="-") as client:
        assert [model.id for model in client.models.list()] == ["m"]
        plain = client.chat.completions.create(**body())
        assert plain.choices[0].message.content == "one two three " and plain.choices[0].finish_reason == "stop"
        assert (plain.usage.prompt_tokens, plain.usage.completion_tokens) == (3, 3)
        chunks = list(client.chat.completions.create(**body('say "a\\b" \n\u00fc', max_tokens=2), stream=True,
                                                     stream_options={"include_usage": True}))
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == 'say "a\\b" '
        assert chunks[0].choices[0].delta.role == "assistant"
        assert chunks[-2].choices[0].finish_reason == "length" and chunks[-1].usage.completion_tokens == 2
        completion = client.completions.create(model="m", prompt="four five")
        assert completion.choices[0].text == "four five "
        texts = [chunk.choices[0].text for chunk in client.completions.create(model="m", prompt="six seven", stream=True)]
        assert texts == ["six ", "seven ", ""]


def test_what_the_engine_cannot_do_is_refused_in_words():
    with adapter() as (running, _):
        for path, request, status, words in [
                ("/v1/chat/completions", body(n=2), 400, "n must be 1"),
                ("/v1/chat/completions", body(None), 400, "there is no prompt"),
                ("/v1/embeddings", {"model": "m", "input": "x"}, 501, "acme engines serve")]:
            got, headers, text = running.post(path, request)
            assert got == status and words in json.loads(text)["error"]["message"]
            assert headers["content-type"] == "application/json"
        status, _, text = running.post("/workers", {"url": "acne://127.0.0.1:1"})
        assert status == 400 and "no plugin offers a transport for the scheme 'acne'" in text.decode()


def test_many_streams_share_the_loops_connections():
    with adapter("--max-running", "64", "--token-ms", "5") as (running, engine):
        streams = [begin(running, content=f"word{number}", max_tokens=30) for number in range(32)]
        established = [line for line in subprocess.run(["ss", "-Htn", "state", "established", f"( dport = :{engine.port} )"],
                                                       capture_output=True, text=True, check=True).stdout.splitlines() if line]
        # One per data loop at most, that of the control loop, and the test's own.
        assert 2 <= len(established) <= 4
        for number, stream in enumerate(streams):
            text = b""
            while b"[DONE]" not in text:
                text += stream.recv(1 << 16)
            # The first bytes came with the head, so one token or more is missing here; none is another stream's.
            assert 0 < text.count(b'"content":"word%d "' % number) <= 30 and text.count(b"word") == text.count(b"word%d " % number)
            stream.close()


def test_a_client_that_goes_away_frees_the_engine_at_once():
    with adapter("--token-ms", "50") as (running, engine):
        stream = begin(running, max_tokens=1000)
        engine.wait_load(running=1)
        stream.close()
        engine.wait_load(running=0, waiting=0)
        # A plain request as well, which has not been answered with a byte.
        waiting = dial(running.port)
        waiting.sendall(post_bytes(json.dumps(body(max_tokens=1000)).encode()))
        engine.wait_load(running=1)
        waiting.close()
        engine.wait_load(running=0)


def test_a_slow_client_pauses_its_stream_and_no_other():
    with adapter("--token-ms", "0", "--max-running", "4") as (running, engine):
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", running.port))
        slow.sendall(post_bytes(json.dumps(body("x" * 4000, stream=True, max_tokens=8000)).encode()))
        slow.settimeout(DEADLINE)
        assert slow.recv(100).startswith(b"HTTP/1.1 200")
        # 32 MB are more than all buffers hold: the engine has to wait for this client, and for nobody else.
        engine.wait_load(running=1, paused=1)
        status, _, text = running.post("/v1/chat/completions", body("quick", max_tokens=3))
        assert status == 200 and json.loads(text)["choices"][0]["message"]["content"] == "quick quick quick "
        engine.wait_load(running=1, waiting=0, paused=1)
        tokens, tail = 0, b""
        while b"[DONE]" not in tail:
            tail = tail[-100:]
            piece = slow.recv(1 << 20)
            assert piece
            tokens += (tail[-20:] + piece).count(b'"delta":{"content"') - tail[-20:].count(b'"delta":{"content"')
            tail += piece
        assert tokens == 8000
        engine.wait_load(running=0, paused=0)
        slow.close()


def test_a_queue_that_the_engine_reports_takes_it_out_of_routing():
    extra = "[overload]\nwaiting_requests = 2\nshed = true\n"
    with adapter("--max-running", "1", "--token-ms", "20", extra=extra) as (running, engine):
        waiting = []
        for number in range(3):
            sock = dial(running.port)
            sock.sendall(post_bytes(json.dumps(body(max_tokens=5000)).encode()))
            waiting.append(sock)
        engine.wait_load(running=1, waiting=2)
        wait_for(lambda: running.metric("smg_workers_overloaded") == 1, "the verdict")
        assert running.chat()[0] == 503
        assert running.metric("smg_load_reports_total", source="transport.acme", result="ok") > 0
        for sock in waiting:
            sock.close()
        wait_for(lambda: running.metric("smg_workers_overloaded") == 0, "the verdict's end")
        assert running.chat()[0] == 200


def test_an_engine_that_is_killed_is_unreachable_until_it_is_back():
    extra = "[liveness]\nstall_secs = 1\n[retry]\nmax_retries = 1\n"
    with adapter("--token-ms", "20", extra=extra) as (running, engine):
        stream = begin(running, max_tokens=5000)
        events = Events(running)
        engine.kill()
        with contextlib.suppress(ConnectionResetError):
            read_all(stream)  # cut, never ended as if it were whole
        event = events.next()
        assert (event["worker"], event["after"]) == (engine.url, "unreachable")
        assert running.chat()[0] >= 500
        with Acme("--token-ms", "20", port=engine.port):
            event = events.next()
            assert (event["worker"], event["before"], event["after"]) == (engine.url, "unreachable", "none")
            assert running.chat()[0] == 200
        events.close()
        stream.close()


def test_an_engine_that_freezes_in_the_middle_of_a_stream_is_wedged():
    extra = "[liveness]\nstall_secs = 0\nwedge_secs = 1\nstale_secs = 0\n"
    with adapter("--token-ms", "10", extra=extra) as (running, engine):
        events = Events(running)
        streams = [begin(running, max_tokens=5000) for _ in range(4)]
        engine.process.send_signal(signal.SIGSTOP)
        event = events.next()
        assert (event["after"], event["text"]) == ("wedged", "in-flight requests pile up without progress")
        engine.process.send_signal(signal.SIGCONT)
        event = events.next()
        assert (event["before"], event["after"], event["text"]) == ("wedged", "none", "progress")
        for stream in streams:
            stream.close()
        events.close()
