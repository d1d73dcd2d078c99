"""`smg plugins new`, followed as its output says: install, make a project, build it, load it, use it."""
import contextlib
import json
import re
import shutil
import socket
import subprocess
import sys

import pytest

from support import BUILD, DEADLINE, PRESET, ROOT, Gateway, Worker, chat, dial, free_port, post_bytes, wait_for

pytestmark = pytest.mark.skipif(PRESET != "release", reason="a newcomer's plugin is not instrumented")
RUST = pytest.param("rust", marks=pytest.mark.skipif(shutil.which("rustc") is None, reason="there is no rustc here (apt-get install rustc)"))


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    place = tmp_path_factory.mktemp("installed")
    for component in ("sdk", "Unspecified"):
        run("cmake", "--install", BUILD, "--prefix", place, "--component", component)
    return place


def make(prefix, folder, kind, language):
    """Builds a new plugin `mine` by the command that `smg plugins new` prints; returns the directory of the library."""
    place = folder / "mine"
    text = run(prefix / "bin/smg", "plugins", "new", "mine", "--kind", kind, "--lang", language, "--dir", place)
    command = re.search(r"^  (cmake -S .*)$", text, re.M)[1]
    subprocess.run(["sh", "-c", command], check=True, capture_output=True)
    described = run(prefix / "bin/smg", "plugins", "describe", "mine", "--plugin-paths", place / "build")
    assert f"mine 1.0 - {kind} by me" in described
    return place / "build"


@pytest.mark.parametrize("language", ["c++", "c", RUST])
def test_a_new_policy_takes_the_worker_with_the_least_to_do(prefix, tmp_path, language):
    def held(connection, request):
        connection.start_stream()
        connection.wait_closed(DEADLINE)

    plugins = make(prefix, tmp_path, "policy", language)
    with Worker(held) as first, Worker(held) as second:
        with Gateway([first, second], plugins=[plugins], policy="mine") as running:
            with contextlib.ExitStack() as streams:
                for count in range(1, 7):
                    sock = streams.enter_context(dial(running.port))
                    sock.sendall(post_bytes(json.dumps(chat(stream=True)).encode()))
                    assert sock.recv(100).startswith(b"HTTP/1.1 200")
                    # As even as can be, whichever of two equal ones was taken.
                    loads = len(first.requests), len(second.requests)
                    assert sum(loads) == count and abs(loads[0] - loads[1]) == count % 2
            assert running.metric("smg_worker_selection_total", policy="mine") == 6
            assert running.metric("smg_plugin_faults_total") == 0


def test_an_option_of_a_new_policy_is_checked_and_read(prefix, tmp_path):
    plugins = make(prefix, tmp_path, "policy", "c++")

    def held(connection, request):
        connection.start_stream()
        connection.wait_closed(DEADLINE)

    for use_cost, expected in (("true", (4, 0)), ("false", (2, 2))):
        with Worker(held) as cheap, Worker(held) as dear:
            extra = (f"[policy.mine]\nuse_cost = {use_cost}\n[[worker]]\nurl = \"{cheap.url}\"\n"
                     f"[[worker]]\nurl = \"{dear.url}\"\ncost = 10\n")
            with Gateway([], plugins=[plugins], policy="mine", extra=extra, ready=False) as running, contextlib.ExitStack() as streams:
                running.wait_ready(2)
                for _ in range(4):
                    sock = streams.enter_context(dial(running.port))
                    sock.sendall(post_bytes(json.dumps(chat(stream=True)).encode()))
                    assert sock.recv(100).startswith(b"HTTP/1.1 200")
                assert (len(cheap.requests), len(dear.requests)) == expected


@pytest.mark.parametrize("language", ["c++", "c"])
def test_a_new_monitor_brings_reports_that_decide(prefix, tmp_path, language):
    plugins = make(prefix, tmp_path, "monitor", language)
    with Worker() as worker:
        worker.pages["/load"] = b"9\n"
        with Gateway([worker], plugins=[plugins], extra="[load_monitor]\ninterval_secs = 1\n") as running:
            wait_for(lambda: running.metric("smg_workers_overloaded") == 1, "the verdict")
            assert running.metric("smg_load_reports_total", source="mine", result="ok") > 0
            worker.pages["/load"] = b"busy"
            wait_for(lambda: running.metric("smg_load_reports_total", source="mine", result="malformed") > 0, "a report refused")
            wait_for(lambda: running.metric("smg_workers_overloaded") == 0, "the verdict's end")


def test_a_new_transport_carries_requests_to_its_engine(prefix, tmp_path):
    plugins = make(prefix, tmp_path, "transport", "c++")
    port = free_port()
    engine = subprocess.Popen([sys.executable, tmp_path / "mine/engine.py", str(port)])
    try:
        extra = f"[[worker]]\nurl = \"mine://127.0.0.1:{port}\"\nmodel = \"m\"\n[retry]\nmax_retries = 1\n"
        with Gateway([], plugins=[plugins], extra=extra, ready=False) as running:
            running.wait_ready(1)
            request = chat(content="x" * 3_000_000)  # more than a socket takes at once, there and back
            status, headers, text = running.post("/v1/chat/completions", request)
            assert status == 200 and headers["content-type"] == "application/json"
            assert json.loads(text) == {"echo": request}
            status, headers, text = running.post("/v1/chat/completions", chat(stream=True))
            assert status == 200 and headers["content-type"].startswith("text/event-stream") and b"echo" in text
            for _ in range(20):
                assert running.chat()[0] == 200
            engine.kill()
            engine.wait()
            status, _, text = running.chat()
            assert status == 500 and "Connection refused" in json.loads(text)["error"]["message"]
            assert running.metric("smg_plugin_faults_total") == 0
    finally:
        engine.kill()
        engine.wait()


def test_a_new_transport_pauses_for_a_slow_client_and_hears_of_one_that_left(prefix, tmp_path):
    plugins = make(prefix, tmp_path, "transport", "c++")
    with socket.create_server(("127.0.0.1", 0)) as engine:
        engine.settimeout(DEADLINE)
        port = engine.getsockname()[1]
        extra = f"[[worker]]\nurl = \"mine://127.0.0.1:{port}\"\nmodel = \"m\"\n"
        with Gateway([], plugins=[plugins], extra=extra, ready=False) as running:
            probe, _ = engine.accept()
            assert probe.recv(100) == b"GET /health 0\n"
            probe.sendall(b"ok")
            running.wait_ready(1)
            client = dial(running.port)
            client.sendall(post_bytes(json.dumps(chat(stream=True)).encode()))
            stream, _ = engine.accept()
            while not stream.recv(1 << 16).startswith(b"POST "):  # another probe
                stream.sendall(b"ok")
                stream.close()
                stream, _ = engine.accept()
            stream.settimeout(1)  # the client reads nothing: when all buffers are full, nothing moves any more
            sent = 0
            with contextlib.suppress(TimeoutError):
                while sent < 1 << 26:
                    sent += stream.send(b"x" * (1 << 16))
            assert sent < 1 << 26, "nothing held the engine back"
            client.close()
            stream.settimeout(DEADLINE)
            with pytest.raises((ConnectionResetError, BrokenPipeError)):
                while True:
                    stream.send(b"x" * (1 << 16))
            stream.close()
            probe.close()


@pytest.mark.parametrize("arguments, words", [
    (["plugins", "new", "mine", "--kind", "transport", "--lang", "rust"], "there is no template for a transport in rust; there are: monitor in c, "),
    (["plugins", "new", "mine", "--kind", "policy", "--lang", "c++", "--dir", "/"], "/ is there already; name another directory with --dir"),
    (["plugins", "new", "Mine", "--kind", "policy", "--lang", "c++"], "'Mine' is no name for a plugin"),
    (["plugins", "new", "mine", "--lang", "c++"], "--kind is missing: policy, transport or monitor"),
])
def test_a_wish_that_cannot_be_met_is_refused(prefix, tmp_path, arguments, words):
    done = subprocess.run([prefix / "bin/smg", *arguments], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and words in done.stderr and not done.stdout
    assert not list(tmp_path.iterdir())


def test_an_uninstalled_gateway_makes_projects_as_well(tmp_path):
    text = run(BUILD / "bin/smg", "plugins", "new", "mine", "--kind", "policy", "--lang", "c", "--dir", tmp_path / "mine")
    assert f"cmake --install {BUILD}" in text
    assert (tmp_path / "mine/plugin.c").read_text() == (ROOT / "sdk/templates/policy-c/plugin.c").read_text().replace("my_plugin", "mine")
