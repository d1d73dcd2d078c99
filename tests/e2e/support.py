"""What the end-to-end tests stand on: the gateway as a process, workers that follow a script, raw clients.

Everything runs on loopback with ports of its own. Waiting is always for a condition, with a deadline.
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRESET = os.environ.get("SMG_PRESET", "release")
BUILD = ROOT / "build" / PRESET
SMG = BUILD / "bin" / "smg"
ENGINE_SIM = BUILD / "bin" / "smg-engine-sim"
PLUGINS = BUILD / "lib" / "smg" / "plugins"
# Sanitizers make everything slower; deadlines grow with them, expectations do not.
SLOW = 1 if PRESET == "release" else 6
DEADLINE = 10 * SLOW
ENV = dict(os.environ, ASAN_OPTIONS="detect_leaks=1:abort_on_error=0", TSAN_OPTIONS=f"halt_on_error=0:exitcode=66:suppressions={ROOT}/tests/tsan.supp",
           UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1")


def wait_for(condition, what, deadline=None):
    """The first true value of condition(); fails after the deadline."""
    end = time.monotonic() + (deadline or DEADLINE)
    pause = threading.Event()
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"timed out waiting for {what}")
        pause.wait(0.005)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def toml(value):
    return json.dumps(value)


class Gateway:
    """A running gateway. Stops with a clean exit code or fails the test."""

    def __init__(self, workers, extra="", server="", policy="round_robin", plugins=None, loops=2, args=(), ready=True, watch=True, grace=1, output=None):
        self.port, self.metrics_port = free_port(), free_port()
        paths = [str(PLUGINS)] + [str(path) for path in plugins or []]
        text = f"""
[server]
host = "127.0.0.1"
port = {self.port}
runtime_worker_threads = {loops}
shutdown_grace_period_secs = {grace}
worker_startup_check_interval_secs = 1
{server}
[metrics]
host = "127.0.0.1"
port = {self.metrics_port}
[plugins]
paths = {toml(paths)}
watch = {toml(watch)}
[policy]
name = "{policy}"
{extra}
"""
        for worker in workers:
            url = worker if isinstance(worker, str) else worker.url
            text += f'[[worker]]\nurl = "{url}"\n'
        self.dir = tempfile.TemporaryDirectory()
        self.config = pathlib.Path(self.dir.name) / "smg.toml"
        self.config.write_text(text)
        self.log_path = pathlib.Path(self.dir.name) / "log"
        self.log = open(self.log_path, "w")
        self.process = subprocess.Popen([SMG, "launch", "--config", self.config, *args], stdout=output or self.log,
                                        stderr=subprocess.STDOUT, env=ENV)
        if ready:
            try:
                self.wait_ready(len(workers))
            except BaseException:
                # What it was about, should it hang.
                for task in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*"):
                    print(task.name, (task / "comm").read_text().strip(), (task / "wchan").read_text(), (task / "syscall").read_text().strip())
                self.__exit__(AssertionError)
                raise

    def wait_ready(self, count):
        def ready():
            assert self.process.poll() is None, self.log_path.read_text()
            with contextlib.suppress(OSError, http.client.HTTPException):
                status, _, body = self.get("/readiness")
                return status == 200 and json.loads(body)["healthy_workers"] >= count
            return False
        # The start tries the plugins in processes of their own, which a busy machine may keep waiting.
        wait_for(ready, "the gateway to be ready", 3 * DEADLINE)

    def wait_listening(self):
        """For a gateway without workers, which is never ready."""
        def answers():
            with contextlib.suppress(OSError):
                return self.get("/health")[0] == 200
        wait_for(answers, "the gateway to listen")

    def request(self, method, path, body=None, headers=None, timeout=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout or 60 * SLOW)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def get(self, path, headers=None):
        return self.request("GET", path, headers=headers, timeout=5 * SLOW)

    def post(self, path, value, headers=None):
        body = value if isinstance(value, (bytes, str)) else json.dumps(value)
        return self.request("POST", path, body, {"Content-Type": "application/json", **(headers or {})})

    def chat(self, **fields):
        return self.post("/v1/chat/completions", chat(**fields))

    def metrics(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.metrics_port, timeout=5 * SLOW)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return text

    def metric(self, name, **labels):
        """Sum of the samples of that name that have these labels."""
        total = 0.0
        for line in self.metrics().splitlines():
            found = re.match(r"(\w+)(?:\{(.*)\})? (\S+)$", line)
            if found and found[1] == name:
                have = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found[2] or ""))
                if all(have.get(key) == value for key, value in labels.items()):
                    total += float(found[3])
        return total

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def stop(self, expect=0):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout=20 * SLOW)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("the gateway did not stop:\n" + self.log_path.read_text())
        self.log.close()
        text = self.log_path.read_text()
        self.dir.cleanup()
        assert code == expect, f"exit code {code}\n{text}"

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.stop()
            return
        self.process.kill()
        self.process.wait()
        self.log.close()
        print(self.log_path.read_text()[-4000:])
        self.dir.cleanup()


def chat(model="m", content="hi", **fields):
    return {"model": model, "messages": [{"role": "user", "content": content}], **fields}


class Request:
    """A request as a worker saw it."""

    def __init__(self, method, target, headers, body):
        self.method, self.target, self.headers, self.body = method, target, headers, body

    def header(self, name):
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def json(self):
        return json.loads(self.body)


class ClosedByPeer(Exception):
    pass


class WorkerConnection:
    """The worker's side of one connection, for scripts."""

    def __init__(self, sock):
        self.sock = sock
        self.buffer = b""

    def fill(self):
        data = self.sock.recv(1 << 16)
        if not data:
            raise ClosedByPeer
        self.buffer += data

    def read_request(self):
        while b"\r\n\r\n" not in self.buffer:
            self.fill()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ")
        headers = [tuple(line.split(": ", 1)) for line in lines[1:]]
        length = int(next((value for key, value in headers if key.lower() == "content-length"), "0"))
        chunks, have = [self.buffer], len(self.buffer)
        while have < length:
            data = self.sock.recv(1 << 20)
            if not data:
                raise ClosedByPeer
            chunks.append(data)
            have += len(data)
        everything = b"".join(chunks)
        self.buffer = everything[length:]
        return Request(method, target, headers, everything[:length])

    def send(self, data):
        self.sock.sendall(data)

    def answer(self, body=b"{}", status="200 OK", headers=(), chunked=False, piece=1 << 20):
        head = f"HTTP/1.1 {status}\r\n" + "".join(f"{key}: {value}\r\n" for key, value in headers)
        if chunked:
            self.send((head + "transfer-encoding: chunked\r\n\r\n").encode())
            for start in range(0, len(body), piece):
                part = body[start:start + piece]
                self.send(b"%x\r\n%s\r\n" % (len(part), part))
            self.send(b"0\r\n\r\n")
        else:
            self.send((head + f"content-length: {len(body)}\r\n\r\n").encode() + body)

    def start_stream(self):
        self.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")

    def event(self, text):
        data = f"data: {text}\n\n".encode()
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def end_stream(self):
        self.send(b"0\r\n\r\n")

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        self.sock.close()

    def wait_closed(self, timeout):
        """Seconds until the peer closed, or None."""
        start = time.monotonic()
        self.sock.settimeout(timeout)
        try:
            while self.sock.recv(1 << 16):
                pass
        except TimeoutError:
            return None
        except OSError:
            pass
        return time.monotonic() - start


class Worker:
    """An engine that does what `script(connection, request)` says for each data-plane request."""

    def __init__(self, script=None, models=("m",), host="127.0.0.1"):
        self.script = script or (lambda connection, request: connection.answer())
        self.models = models
        self.requests = []
        self.gets = []
        self.probes = []
        self.healthy = True
        self.healthy_page = None  # called before a probe is answered
        self.pages = {}  # path -> bytes, JSON, or a function of the connection
        self.failures = []
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.listener = socket.socket(family)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((host, 0))
        self.listener.listen(512)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"
        self.open = set()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.open.add(sock)
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        connection = WorkerConnection(sock)
        with contextlib.suppress(ClosedByPeer, OSError), sock:
            while True:
                request = connection.read_request()
                path = request.target.split("?")[0]
                if path.endswith("/health"):
                    self.probes.append(request)
                    if self.healthy_page:
                        self.healthy_page(connection)
                    connection.answer(b"ok", "200 OK" if self.healthy else "503 Service Unavailable")
                elif path.endswith("/v1/models"):
                    cards = [{"id": model, "object": "model", "owned_by": "vllm"} for model in self.models]
                    connection.answer(json.dumps({"object": "list", "data": cards}).encode())
                elif request.method == "GET":
                    self.gets.append(request)
                    self.answer_get(connection, path)
                else:
                    self.requests.append(request)
                    try:
                        self.script(connection, request)
                    except AssertionError as failure:
                        self.failures.append(failure)
                        raise ClosedByPeer from failure
        self.open.discard(sock)

    def answer_get(self, connection, path):
        answer = self.pages.get(path)
        if callable(answer):
            answer(connection)
        elif answer is None:
            connection.answer(b"", "404 Not Found")
        else:
            connection.answer(answer if isinstance(answer, bytes) else json.dumps(answer).encode())

    def report(self, waiting=0, usage=0.0, **fields):
        """What the worker's load document says from now on."""
        rank = {"dp_rank": 0, "num_waiting_reqs": waiting, "token_usage": usage, **fields}
        self.pages["/v1/loads"] = {"timestamp": "now", "dp_rank_count": 1, "loads": [rank]}

    def close(self):
        # A thread that waits in accept() keeps a socket open that is only closed.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for sock in list(self.open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        assert not self.failures, self.failures


@contextlib.contextmanager
def gateway(*scripts, **options):
    """A gateway in front of one worker per script."""
    workers = [Worker(script) for script in scripts]
    try:
        with Gateway(workers, **options) as running:
            yield (running, *workers)
    finally:
        for worker in workers:
            worker.__exit__()


class EngineSim:
    """Simulated engines in one process."""

    def __init__(self, count=1, *args, prefix=()):
        self.process = subprocess.Popen([*prefix, ENGINE_SIM, "--port", "0", "--control-port", "0", "--count", str(count), *args],
                                        stdout=subprocess.PIPE, text=True, env=ENV)
        self.urls, self.control = [], None
        while len(self.urls) < count or self.control is None:
            line = self.process.stdout.readline()
            assert line, "the simulated engine ended before it was ready"
            if line.startswith("ready: "):
                self.urls.append(line.split()[1])
            if line.startswith("control: "):
                self.control = line.split()[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        assert self.process.wait(timeout=20 * SLOW) == 0


def dial(port, timeout=None):
    sock = socket.create_connection(("127.0.0.1", port), timeout=timeout or DEADLINE)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def read_all(sock):
    """All bytes until the peer closes; raises ConnectionResetError when it does so abortively."""
    data = b""
    while True:
        part = sock.recv(1 << 16)
        if not part:
            return data
        data += part


def post_bytes(body, path="/v1/chat/completions", headers=""):
    return (f"POST {path} HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n{headers}"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body
