"""TLS on the main port: certificates that change under load, clients of all kinds, handshakes that are none."""
import contextlib
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import threading
import time

import httpx
import openai
import pytest

from certificates import Authority, replace
from support import DEADLINE, ENV, ROOT, SLOW, SMG, EngineSim, Gateway, Worker, chat, dial, toml, wait_for

TOKENS = 150


@pytest.fixture(scope="module")
def authorities(tmp_path_factory):
    place = tmp_path_factory.mktemp("certificates")
    return Authority(place, "one"), Authority(place, "two")


def trusting(*authorities, pair=None):
    context = ssl.create_default_context(cadata="".join(authority.certificate.read_text() for authority in authorities))
    # One of the two has to find out that a connection was cut.
    context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    if pair:
        context.load_cert_chain(*pair)
    return context


class TlsGateway(Gateway):
    """A gateway with TLS whose files the test may replace. Its requests are made with `self.context`."""

    def __init__(self, place, authorities, workers, extra="", clients=None, pair=None, **options):
        self.certificate, self.key = place / "tls.crt", place / "tls.key"
        self.context = trusting(*authorities)
        self.put(pair or authorities[0].issue("gateway-0"))
        table = f"[tls]\ncert_path = {toml(str(self.certificate))}\nkey_path = {toml(str(self.key))}\n"
        if clients:
            table += f"client_ca_path = {toml(str(clients.certificate))}\n"
        super().__init__(workers, table + extra, **options)

    def put(self, pair):
        replace(self.certificate, pair[0])
        replace(self.key, pair[1])

    def connection(self, context=None):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60 * SLOW, context=context or self.context)

    def request(self, method, path, body=None, headers=None, timeout=None, context=None):
        connection = self.connection(context)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def served(self):
        """The name in the certificate of a new connection."""
        with self.secure() as sock:
            return name_in(sock)

    def secure(self, context=None):
        return (context or self.context).wrap_socket(dial(self.port), server_hostname="127.0.0.1", suppress_ragged_eofs=False)

    def base_url(self):
        return f"https://127.0.0.1:{self.port}/v1"


def name_in(sock):
    return dict(part[0] for part in sock.getpeercert()["subject"])["commonName"]


@pytest.fixture(scope="module")
def running(authorities, tmp_path_factory):
    with EngineSim(2, "--model", "sim", "--decode-ms", "2") as engines:
        with TlsGateway(tmp_path_factory.mktemp("gateway"), authorities, engines.urls, "[limits]\nheader_timeout_secs = 1\n") as gateway:
            yield gateway


class Load:
    """Requests over kept and over new connections and streams, until it is stopped. What fails is kept."""

    def __init__(self, gateway, kept, fresh, streams):
        self.gateway, self.failures, self.stopped = gateway, [], threading.Event()
        self.answered, self.names, self.streams, self.longest = 0, set(), 0, 0
        self.lock = threading.Lock()
        kinds = [self.keep] * kept + [self.renew] * fresh + [self.stream] * streams
        self.threads = [threading.Thread(target=self.run, args=(kind,), daemon=True) for kind in kinds]
        for thread in self.threads:
            thread.start()

    def run(self, kind):
        try:
            kind()
        except Exception as failure:  # noqa: BLE001
            self.failures.append(f"{kind.__name__}: {failure!r}")
            self.stopped.set()

    def ask(self, connection, **fields):
        connection.request("POST", "/v1/chat/completions", json.dumps(chat("sim", max_tokens=2, **fields)), {"Content-Type": "application/json"})
        response = connection.getresponse()
        body = response.read()
        assert response.status == 200 and json.loads(body)["choices"], (response.status, body)
        with self.lock:
            self.answered += 1

    def keep(self):
        connection = self.gateway.connection()
        connection.connect()
        sock, begun = connection.sock, time.monotonic()
        while not self.stopped.is_set():
            self.ask(connection)
            assert connection.sock is sock, "the connection was not kept"
        self.longest = max(self.longest, time.monotonic() - begun)
        connection.close()

    def renew(self):
        while not self.stopped.is_set():
            connection = self.gateway.connection()
            connection.connect()
            name = name_in(connection.sock)
            self.ask(connection)
            connection.close()
            with self.lock:
                self.names.add(name)

    def stream(self):
        while not self.stopped.is_set():
            connection = self.gateway.connection()
            connection.request("POST", "/v1/chat/completions", json.dumps(chat("sim", stream=True, max_tokens=TOKENS, sim_interval_ms=20)),
                               {"Content-Type": "application/json"})
            response = connection.getresponse()
            body = response.read()
            assert response.status == 200 and body.endswith(b"data: [DONE]\n\n") and body.count(b"data: ") >= TOKENS
            connection.close()
            with self.lock:
                self.streams += 1

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join(60 * SLOW)
            assert not thread.is_alive()
        assert not self.failures, self.failures


def test_certificates_change_under_load_and_no_request_fails(authorities, tmp_path):
    with EngineSim(2, "--model", "sim", "--decode-ms", "2") as engines, TlsGateway(tmp_path, authorities, engines.urls) as gateway:
        load = Load(gateway, kept=6, fresh=6, streams=6)
        for number in range(1, 7):
            certificate, key = authorities[number % 2].issue(f"gateway-{number}")
            replace(gateway.certificate, certificate)
            if number % 3 == 0:
                # Long enough for the half pair to be read, and refused.
                wait_for(lambda: gateway.metric("smg_tls_certificate_reloads_total", result="failed") >= number / 3, "the half pair to be refused")
                assert gateway.served() == f"gateway-{number - 1}"
            replace(gateway.key, key)
            wait_for(lambda: gateway.served() == f"gateway-{number}", f"certificate {number} to be served")
            have = load.answered
            wait_for(lambda: load.answered > have + 20 or load.stopped.is_set(), "requests after the change")
        wait_for(lambda: load.streams >= 12 or load.stopped.is_set(), "streams", 60 * SLOW)
        load.stop()
        assert load.names == {f"gateway-{number}" for number in range(7)}
        assert load.longest > 3
        assert gateway.metric("smg_tls_certificate_reloads_total", result="applied") >= 6
        assert gateway.metric("smg_http_tls_handshakes_total", result="failure") == 0
        print(f"{load.answered} requests, {load.streams} streams, kept up to {load.longest:.1f} s")


def test_a_pair_that_cannot_be_used_leaves_the_one_before_in_use(authorities, tmp_path):
    with Worker() as worker, TlsGateway(tmp_path, authorities, [worker]) as gateway:
        for number, wrong in enumerate([b"", b"-----BEGIN CERTIFICATE-----\nMIIB\n", authorities[0].key.read_bytes()], 1):
            gateway.certificate.write_bytes(wrong)
            wait_for(lambda: gateway.metric("smg_tls_certificate_reloads_total", result="failed") == number, "the file to be refused")
            assert gateway.served() == "gateway-0" and gateway.chat()[0] == 200
        assert f'tls.cert_path = "{gateway.certificate}": ' in gateway.log_path.read_text()
        gateway.put(authorities[1].issue("gateway-1"))
        wait_for(lambda: gateway.served() == "gateway-1", "the good pair")


def test_a_reload_of_the_configuration_reads_the_certificate(authorities, tmp_path):
    with Worker() as worker, TlsGateway(tmp_path, authorities, [worker]) as gateway:
        gateway.put(authorities[1].issue("gateway-1"))
        gateway.process.send_signal(signal.SIGHUP)
        wait_for(lambda: gateway.metric("smg_tls_certificate_reloads_total", result="applied") >= 1, "the reload")
        assert gateway.served() == "gateway-1"
        assert gateway.metric("smg_tls_certificate_expiry_timestamp_seconds") > time.time()


@pytest.mark.parametrize("command", ["launch", "check-config"])
@pytest.mark.parametrize("change, reason", [
    (lambda files: files.update(key_path="/no/such.key"), 'tls.key_path = "/no/such.key": No such file or directory'),
    (lambda files: files.update(key_path=files["other"]), "key values mismatch"),
    (lambda files: files.pop("key_path"), "cert_path: is set and key_path is not; set both or none"),
])
def test_a_gateway_that_cannot_use_its_certificate_does_not_start(authorities, tmp_path, change, reason, command):
    certificate, key = authorities[0].issue("gateway-0")
    files = {"cert_path": str(certificate), "key_path": str(key), "other": str(authorities[0].key)}
    change(files)
    files.pop("other")
    config = tmp_path / "smg.toml"
    lines = "".join(f"{name} = {toml(path)}\n" for name, path in files.items())
    config.write_text(f'[server]\nhost = "127.0.0.1"\n[plugins]\npaths = ["{ROOT}/build/{os.environ.get("SMG_PRESET", "release")}/lib/smg/plugins"]\n[tls]\n{lines}')
    arguments = ["launch", "--config", config] if command == "launch" else ["check-config", config]
    start = subprocess.run([SMG, *arguments], capture_output=True, text=True, env=ENV, timeout=60 * SLOW)
    assert start.returncode == 2 and reason in start.stdout + start.stderr
    assert "PRIVATE" not in start.stdout + start.stderr


def test_the_python_sdk(running):
    client = openai.OpenAI(base_url=running.base_url(), api_key="k", max_retries=0, http_client=httpx.Client(verify=running.context))
    ask = {"model": "sim", "messages": [{"role": "user", "content": "hi"}]}
    assert client.chat.completions.create(**ask, max_tokens=3).choices[0].message.content == "every token counts"
    text = "Grüße, 世界! 🚀"
    stream = client.chat.completions.create(**ask, stream=True, extra_body={"sim_text": text})
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == text


def test_the_node_sdk(running, authorities):
    environment = dict(os.environ, SMG_NODE_MODULES=str(ROOT / ".cache/node/node_modules"), NODE_EXTRA_CA_CERTS=str(authorities[0].certificate))
    result = subprocess.run(["node", ROOT / "tests/e2e/node_client.mjs", running.base_url()], env=environment, capture_output=True,
                            text=True, timeout=60 * SLOW)
    assert result.returncode == 0 and "all well" in result.stdout, result.stdout + result.stderr


@pytest.mark.parametrize("options", [[], ["--http1.1"], ["--tls-max", "1.2"], ["--tlsv1.3"], ["--no-alpn"]])
def test_curl(running, authorities, options):
    result = subprocess.run(["curl", "-sS", "--cacert", authorities[0].certificate, *options, "-H", "content-type: application/json", "-d",
                             json.dumps(chat("sim", max_tokens=2)), "-w", " %{http_code} %{http_version}",
                             running.base_url() + "/chat/completions"], capture_output=True, text=True, timeout=60 * SLOW)
    assert result.returncode == 0 and result.stdout.endswith(" 200 1.1"), result.stdout + result.stderr


def test_who_speaks_http2_alone_is_refused(running, authorities):
    context = trusting(authorities[0])
    context.set_alpn_protocols(["h2"])
    with pytest.raises(ssl.SSLError, match="(?i)no.application.protocol"):
        running.secure(context)


class Piecewise:
    """A TLS client whose bytes go one by one, each in a segment of its own."""

    def __init__(self, gateway):
        self.sock = dial(gateway.port)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = gateway.context.wrap_bio(self.incoming, self.outgoing, server_hostname="127.0.0.1")

    def flush(self):
        for byte in self.outgoing.read():
            self.sock.sendall(bytes([byte]))

    def until(self, step):
        while True:
            try:
                result = step()
                self.flush()
                return result
            except ssl.SSLWantReadError:
                self.flush()
                data = self.sock.recv(1)
                assert data, "the gateway closed"
                self.incoming.write(data)


def test_a_client_that_sends_and_reads_byte_by_byte(running):
    client = Piecewise(running)
    client.until(client.tls.do_handshake)
    body = json.dumps(chat("sim", max_tokens=3)).encode()
    request = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
    client.until(lambda: client.tls.write(request % (len(body), body)))
    answer = b""
    with contextlib.suppress(ssl.SSLZeroReturnError):
        while part := client.until(lambda: client.tls.read(1 << 16)):
            answer += part
    assert answer.startswith(b"HTTP/1.1 200") and b"every token counts" in answer


@pytest.mark.parametrize("opening", [b"", b"\x16\x03\x01\x02\x00\x01\x00"])
def test_a_handshake_that_does_not_come_about_is_ended(running, opening):
    rejected = running.metric("smg_http_limit_rejections_total", limit="header_timeout")
    with dial(running.port, 20 * SLOW) as sock:
        sock.sendall(opening)
        assert sock.recv(1) == b""
    assert running.metric("smg_http_limit_rejections_total", limit="header_timeout") == rejected + 1
    assert running.get("/health")[0] == 200


def test_a_handshake_that_trickles_in_is_ended_as_well(running):
    outgoing = ssl.MemoryBIO()
    tls = running.context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="127.0.0.1")
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    greeting = outgoing.read()
    begun = time.monotonic()
    with dial(running.port, 0.05) as sock:
        for byte in greeting:
            # A byte, and a while in which nothing is expected but the end.
            sock.sendall(bytes([byte]))
            try:
                assert sock.recv(1) == b""
                break
            except TimeoutError:
                continue
            except ConnectionResetError:
                break
        else:
            raise AssertionError(f"{len(greeting)} bytes passed in {time.monotonic() - begun:.1f} s")
    assert 0.9 < time.monotonic() - begun < DEADLINE
    assert running.get("/health")[0] == 200


def test_garbage_instead_of_a_handshake_is_ended(running):
    for opening in (b"\0" * 100, b"\x16\x03\x01\x00\x04abcd", b"SSH-2.0-x\r\n".lower()):
        with dial(running.port, 20 * SLOW) as sock:
            sock.sendall(opening)
            with contextlib.suppress(ConnectionResetError):
                while sock.recv(100):
                    pass
    assert running.get("/health")[0] == 200


def test_a_request_without_tls_is_told_so(running):
    for request in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"DELETE /workers/1 HTTP/1.1\r\nHost: x\r\n\r\n"):
        with dial(running.port) as sock:
            sock.sendall(request)
            answer = b""
            while part := sock.recv(1000):
                answer += part
        assert answer.startswith(b"HTTP/1.1 400") and b"this port speaks HTTPS" in answer


def test_large_bodies_pass_both_ways(authorities, tmp_path):
    def script(connection, request):
        connection.answer(request.body, chunked=True, piece=100_000)
    with Worker(script) as worker, TlsGateway(tmp_path, authorities, [worker]) as gateway:
        body = json.dumps(chat(content="x" * 8_000_000)).encode()
        status, _, answer = gateway.post("/v1/chat/completions", body)
        assert status == 200 and answer == body


def test_a_client_that_reads_late_gets_everything(authorities, tmp_path):
    sent = threading.Event()

    def script(connection, request):
        connection.answer(b"y" * 20_000_000)
        sent.set()
    with Worker(script) as worker, TlsGateway(tmp_path, authorities, [worker]) as gateway, gateway.secure() as sock:
        body = json.dumps(chat()).encode()
        sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        wait_for(lambda: worker.requests, "the request")
        assert not sent.wait(0.5)  # the engine is slowed down
        got = b""
        while len(got) < 20_000_000:
            part = sock.recv(1 << 20)
            assert part
            got += part
        assert sent.wait(DEADLINE)


def test_a_client_that_goes_is_noticed_by_the_engine(authorities, tmp_path):
    gone = []

    def script(connection, request):
        connection.start_stream()
        connection.event("one")
        gone.append(connection.wait_closed(DEADLINE))
    with Worker(script) as worker, TlsGateway(tmp_path, authorities, [worker]) as gateway:
        for leave in (lambda sock: sock.close(), lambda sock: sock.unwrap()):
            body = json.dumps(chat(stream=True)).encode()
            sock = gateway.secure()
            sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            assert sock.recv(1 << 16).startswith(b"HTTP/1.1 200")
            have = len(gone)
            with contextlib.suppress(OSError):
                leave(sock)
            wait_for(lambda: len(gone) > have, "the engine to notice")
            assert gone[-1] is not None
            sock.close()


def test_an_end_is_told_from_a_cut(authorities, tmp_path):
    def script(connection, request):
        connection.start_stream()
        connection.event("one")
        if request.json()["cut"]:
            connection.reset()
        else:
            connection.end_stream()
    with Worker(script) as worker, TlsGateway(tmp_path, authorities, [worker]) as gateway:
        for cut in (False, True):
            body = json.dumps(chat(stream=True, cut=cut)).encode()
            with gateway.secure() as sock:
                sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
                             b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
                answer, end = b"", None
                try:
                    while part := sock.recv(1 << 16):
                        answer += part
                    end = "end"
                except (ssl.SSLError, OSError):
                    end = "cut"
                assert end == ("cut" if cut else "end")
                assert answer.endswith(b"0\r\n\r\n") != cut


def test_admin_routes_want_a_client_certificate_the_others_do_not(authorities, tmp_path):
    one, two = authorities
    with Worker() as worker, TlsGateway(tmp_path, authorities, [worker], clients=two) as gateway:
        known = trusting(one, pair=two.issue("operator"))
        stranger = trusting(one, pair=one.issue("operator"))
        expired = trusting(one, pair=two.issue("late operator", days=-1))
        for context, admin in ((known, 200), (stranger, 403), (expired, 403), (gateway.context, 403)):
            assert gateway.request("GET", "/workers", context=context)[0] == admin
            assert gateway.request("GET", "/health", context=context)[0] == 200
            status, _, _ = gateway.request("POST", "/v1/chat/completions", json.dumps(chat()), {"Content-Type": "application/json"}, context=context)
            assert status == 200
        status, _, body = gateway.request("DELETE", "/workers/x", context=stranger)
        assert status == 403 and b"client certificate" in body
        assert gateway.metric("smg_http_tls_handshakes_total", result="failure") == 0


def test_a_session_is_resumed_also_with_the_next_certificate(authorities, tmp_path):
    with Worker() as worker, TlsGateway(tmp_path, authorities, [worker]) as gateway:
        def visit(session=None):
            sock = gateway.context.wrap_socket(dial(gateway.port), server_hostname="127.0.0.1", session=session)
            with sock:
                sock.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
                assert sock.recv(1000).startswith(b"HTTP/1.1 200")
                return sock.session, sock.session_reused
        session, reused = visit()
        assert not reused and session is not None
        assert visit(session)[1]
        gateway.put(authorities[1].issue("gateway-1"))
        wait_for(lambda: gateway.served() == "gateway-1", "the new certificate")
        assert visit(session)[1]
