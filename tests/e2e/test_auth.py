"""Who may ask: keys of all kinds on all routes, signed tokens and their issuer, keys that change under load, and that no secret gets out."""
import base64
import concurrent.futures
import contextlib
import http.client
import http.server
import json
import re
import subprocess
import threading
import time

import pytest

from support import DEADLINE, ENV, SLOW, SMG, Gateway, Worker, chat, dial, read_all, wait_for
from test_config_reload import log, worker_table

BODY = json.dumps(chat()).encode()
SERVING = [("POST", path) for path in ("/v1/chat/completions", "/v1/completions", "/generate", "/v1/messages", "/v1/responses",
                                       "/v1/embeddings", "/v1/classify", "/rerank", "/v1/rerank")]
PUBLIC = [("GET", path) for path in ("/health", "/liveness", "/readiness", "/v1/models", "/health_generate", "/engine_metrics",
                                     "/get_model_info", "/get_server_info")]
SOMEBODY = "00000000-0000-4000-8000-000000000000"
ADMIN = [("GET", "/workers"), ("POST", "/workers"), ("GET", f"/workers/{SOMEBODY}"), ("PUT", f"/workers/{SOMEBODY}"),
         ("PATCH", f"/workers/{SOMEBODY}"), ("DELETE", f"/workers/{SOMEBODY}"), ("POST", "/flush_cache"), ("GET", "/get_loads"),
         ("GET", "/plugins"), ("POST", "/plugins/nothing/reload"), ("POST", "/config/reload")]
SECRETS = ["key-shared", "key-team-a", "key-team-b", "key-root", "key-reader", "key-worker"]
KEYS = """[auth]
api_key = "key-shared"
tenant_api_keys = ["a:key-team-a", "b:key-team-b"]
"""
ADMINS = 'control_plane_api_keys = ["root:Root:admin:key-root", "reader:Reader:user:key-reader", "no entry"]\n'
CHALLENGE = 'Bearer realm="control-plane"'


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def ask(running, method, path, headers=None):
    body = BODY if method in ("POST", "PUT", "PATCH") else None
    sent = {**({"Content-Type": "application/json"} if body else {}), **(headers or {})}
    return running.request(method, path, body, sent)


def raw(running, path, lines, method="GET"):
    """Status, head and body of the answer to a request with exactly these header lines."""
    sock = dial(running.port)
    head = f"{method} {path} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n" + "".join(f"{line}\r\n" for line in lines)
    if method == "POST":
        head += f"Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n"
    sock.sendall(head.encode("latin-1") + b"\r\n" + (BODY if method == "POST" else b""))
    head, _, body = read_all(sock).partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), head.decode("latin-1").lower(), body


@contextlib.contextmanager
def guarded(extra, **options):
    # A gateway that asks for keys of its own is asked for its workers with one.
    with Worker() as worker, Gateway([], extra=extra + options.pop("more", "") + worker_table(worker), ready=False, **options) as running:
        running.wait_ready(1)
        yield running, worker


# ---- Keys, roles, routes.

@pytest.mark.parametrize("config, serving, admin, forbidden", [
    ("", [None, "anything"], [None, "anything"], []),
    ('[auth]\napi_key = "key-shared"\n', ["key-shared"], ["key-shared"], []),
    ('[auth]\ntenant_api_keys = ["a:key-team-a"]\n', ["key-team-a"], [], []),
    (KEYS, ["key-shared", "key-team-a", "key-team-b"], ["key-shared"], []),
    ("[auth]\n" + ADMINS, [None, "key-root", "anything"], ["key-root"], ["key-reader"]),
    (KEYS + ADMINS, ["key-shared", "key-team-a", "key-team-b"], ["key-root"], ["key-reader"]),
], ids=["open", "shared", "tenants", "shared-tenants", "admins", "all"])
def test_each_kind_of_key_opens_its_class_of_routes(config, serving, admin, forbidden):
    with guarded(config) as (running, worker):
        guards_admin = "control_plane" in config
        for key in [None, "anything", *SECRETS[:5]]:
            headers = bearer(key) if key else {}
            for method, path in SERVING:
                status, answer, body = ask(running, method, path, headers)
                if key in serving or None in serving:
                    assert status != 401, (key, path)
                else:
                    assert (status, body) == (401, b""), (key, path)
            for method, path in ADMIN:
                status, answer, body = ask(running, method, path, headers)
                if key in admin or (None in admin):
                    assert status not in (401, 403), (key, path)
                elif key in forbidden:
                    assert (status, body) == (403, b"Admin role required for control plane access")
                elif not guards_admin:
                    assert (status, body) == (401, b""), (key, path)
                else:
                    text = b"Invalid authentication token" if key else b"Missing or invalid Authorization header"
                    assert (status, body) == (401, text), (key, path)
                    assert answer["www-authenticate"] == CHALLENGE and answer["content-type"].startswith("text/plain")
            for method, path in PUBLIC:
                assert ask(running, method, path, headers)[0] not in (401, 403), (key, path)
        assert ask(running, "GET", "/nothing")[0] == 404 and ask(running, "DELETE", "/workers")[0] == 405


MALFORMED = [
    [], ["Authorization:"], ["Authorization: Bearer"], ["Authorization: bearer key-shared"], ["Authorization: BEARER key-shared"],
    ["Authorization: Bearer  key-shared"], ["Authorization: Bearer\tkey-shared"], ["Authorization: Basic key-shared"],
    ["Authorization: key-shared"], ["Authorization: Bearer key-share"], ["Authorization: Bearer key-sharedx"],
    ["Authorization: Bearer key-shared, Bearer key-shared"], ["Authorization: Bearer \xff\xfe"], ["Authorization: Bearer " + "x" * 7000],
    ["Authorization: Bearer key-shared", "Authorization: Bearer key-shared"],
    ["Authorization: Bearer nothing", "Authorization: Bearer key-shared"], ["X-Api-Key: key-shared"],
    ["Proxy-Authorization: Bearer key-shared"],
]


def test_malformed_and_ambiguous_credentials_are_refused():
    with guarded('[auth]\napi_key = "key-shared"\n') as (running, worker):
        for lines in MALFORMED:
            status, head, body = raw(running, "/v1/chat/completions", lines, "POST")
            assert (status, body) == (401, b"") and "content-length: 0" in head, lines
            status, _, body = raw(running, "/workers", lines)
            assert (status, body) == (401, b""), lines
        assert worker.requests == []
        assert raw(running, "/workers", ["aUTHORIZATION:   Bearer key-shared   "])[0] == 200
        assert running.metric("smg_auth_rejections_total", **{"class": "serving", "status_code": "401"}) == len(MALFORMED)
        assert running.metric("smg_auth_rejections_total", **{"class": "admin", "status_code": "401"}) == len(MALFORMED)


def test_the_connection_serves_on_after_a_refusal():
    with guarded('[auth]\napi_key = "key-shared"\n') as (running, worker):
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=DEADLINE)
        for key, wanted in [("wrong", 401), ("key-shared", 200), ("wrong", 401), ("key-shared", 200)]:
            connection.request("GET", "/workers", headers=bearer(key))
            response = connection.getresponse()
            response.read()
            assert response.status == wanted
        connection.close()


def test_an_unauthorized_request_costs_no_body():
    """The refusal comes although the body, which is announced as huge, never does."""
    with guarded('[auth]\napi_key = "key-shared"\n') as (running, worker):
        sock = dial(running.port)
        sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\n\r\n")
        sock.settimeout(DEADLINE)
        assert sock.recv(1 << 16).startswith(b"HTTP/1.1 401 ")
        sock.close()


# ---- Workers' keys.

def test_configured_workers_get_the_gateways_key_and_those_of_the_api_do_not():
    with Worker() as first, Worker() as second, Worker() as third:
        tables = worker_table(first) + worker_table(second, 'api_key = "key-worker"\n')
        with Gateway([], extra='[auth]\napi_key = "key-shared"\n' + tables, ready=False) as running:
            running.wait_ready(2)

            def shown_to(worker):
                """The credentials with which the worker was asked for its load."""
                wait_for(lambda: worker.gets, "a look at the load")
                return {each.header("authorization") for each in worker.gets}
            assert shown_to(first) == {"Bearer key-shared"} and shown_to(second) == {"Bearer key-worker"}
            status, _, _ = running.request("POST", "/workers", json.dumps({"url": third.url}),
                                           {"Content-Type": "application/json", **bearer("key-shared")})
            assert status == 202
            running.wait_ready(3)
            assert shown_to(third) == {None}
            wait_for(lambda: f"worker {third.url} is added without an api_key" in log(running), "the warning")


# ---- Keys change while requests run.

def test_keys_are_exchanged_by_a_reload_under_load_without_a_failed_request():
    with guarded('[auth]\napi_key = "key-old"\n', args=("--no-watch-config",)) as (running, worker):
        text = running.config.read_text()
        key, over, failures, served = ["key-old"], threading.Event(), [], {}

        def client():
            while not over.is_set():
                mine = key[0]
                status, _, _ = ask(running, "POST", "/v1/chat/completions", bearer(mine))
                served[mine] = served.get(mine, 0) + 1
                if status != 200:
                    failures.append((mine, status))

        def take(auth):
            connection = running.request("POST", "/config/reload", headers=bearer(key[0]))
            assert connection[0] == 200, connection[2]
            assert auth in json.loads(connection[2])["applied"]

        threads = [threading.Thread(target=client) for _ in range(8)]
        for thread in threads:
            thread.start()
        try:
            for turn in range(5):
                old, new = key[0], f"key-{turn}"
                # Both are valid while clients change over.
                running.config.write_text(text.replace('api_key = "key-old"', f'api_key = "{old}"\ntenant_api_keys = ["next:{new}"]'))
                take("auth.tenant_api_keys")
                running.config.write_text(text.replace('api_key = "key-old"', f'api_key = "{new}"\ntenant_api_keys = ["last:{old}"]'))
                take("auth.api_key")
                key[0] = new
                wait_for(lambda: served.get(new, 0) > 20, "clients with the new key", 3 * DEADLINE)
        finally:
            over.set()
            for thread in threads:
                thread.join()
        assert failures == []
        running.config.write_text(text.replace("key-old", key[0]))
        take("auth.tenant_api_keys")
        assert ask(running, "POST", "/v1/chat/completions", bearer("key-3"))[0] == 401
        assert ask(running, "POST", "/v1/chat/completions", bearer("key-old"))[0] == 401


# ---- Signed tokens.

def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """Signs tokens, and tells its keys at a port of its own, or does not."""

    def __init__(self, directory):
        self.directory, self.keys, self.fetches = directory, {}, []
        self.broken, self.gate = False, threading.Event()
        self.gate.set()
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.fetches.append(self.path)
                issuer.gate.wait(60 * SLOW)
                if self.path == "/.well-known/openid-configuration":
                    body = {"issuer": issuer.url, "jwks_uri": issuer.url + "/keys"}
                else:
                    body = {"keys": [key["jwk"] for key in issuer.keys.values()]}
                data = json.dumps(body).encode()
                self.send_response(500 if issuer.broken else 200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def add(self, kid):
        path = self.directory / kid
        subprocess.run(["openssl", "genrsa", "-out", path, "2048"], check=True, capture_output=True)
        modulus = subprocess.run(["openssl", "rsa", "-in", path, "-noout", "-modulus"], check=True, capture_output=True).stdout
        number = bytes.fromhex(modulus.decode().strip().split("=")[1])
        self.keys[kid] = {"path": path, "jwk": {"kid": kid, "kty": "RSA", "alg": "RS256", "n": b64(number), "e": "AQAB"}}

    def token(self, kid="k1", alg="RS256", **claims):
        path = self.keys[kid]["path"] if kid in self.keys else self.directory / "k1"
        now = int(time.time())
        claims = {"iss": self.url, "aud": "smg", "sub": "alice", "roles": ["admin"], "iat": now, "exp": now + 600, **claims}
        text = b64(json.dumps({"alg": alg, "kid": kid}).encode()) + "." + b64(json.dumps(claims).encode())
        signed = subprocess.run(["openssl", "dgst", "-sha256", "-sign", path], input=text.encode(), check=True, capture_output=True)
        return text + "." + b64(signed.stdout)

    def config(self, more=""):
        return f'[auth]\njwt_issuer = "{self.url}"\njwt_audience = "smg"\n{more}'

    def close(self):
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def issuer(tmp_path):
    made = Issuer(tmp_path)
    made.add("k1")
    yield made
    made.close()


def admin(running, token):
    status, headers, body = running.get("/workers", bearer(token))
    return status, body.decode()


def test_tokens_open_admin_routes_by_their_role(issuer):
    with guarded(issuer.config('jwt_role_mapping = { ops = "admin", dev = "user" }\n')) as (running, worker):
        assert admin(running, issuer.token(roles=["ops"]))[0] == 200
        assert admin(running, issuer.token(roles="dev")) == (403, "Admin role required for control plane access")
        assert admin(running, issuer.token()) == (403, "Admin role required for control plane access")
        assert admin(running, issuer.token(roles=[], groups=["x", "ops"]))[0] == 200
        assert issuer.fetches == ["/.well-known/openid-configuration", "/keys"]
        # Serving routes know nothing of tokens.
        assert ask(running, "POST", "/v1/chat/completions")[0] == 200


def test_forged_and_expired_tokens_are_refused_with_their_reason(issuer):
    with guarded(issuer.config(ADMINS)) as (running, worker):
        good = issuer.token()
        head, claims, signature = good.split(".")
        old = int(time.time()) - 1000
        forged = {
            "the token has expired": issuer.token(exp=old),
            "the token is not valid yet": issuer.token(nbf=old + 2000),
            "the issuer is another": issuer.token(iss="https://evil"),
            "the audience is another": issuer.token(aud=["billing"]),
            "the signature is wrong": f"{head}.{claims}.{signature[:-8]}AAAAAAAA",
            "the token has no signature": f"{head}.{claims}.",
            "the issuer has no key with this kid": issuer.token(kid="unknown"),
            "the header is not base64url": f"%.{claims}.{signature}",
        }
        for reason, token in forged.items():
            assert admin(running, token) == (401, f"Invalid JWT: {reason}")
        none = b64(b'{"alg":"none","kid":"k1"}')
        assert "alg 'none' is not accepted" in admin(running, f"{none}.{claims}.")[1]
        assert admin(running, good)[0] == 200 and admin(running, "key-root")[0] == 200
        assert admin(running, "a.b") == (401, "Invalid authentication token")
        assert running.metric("smg_auth_rejections_total", **{"class": "admin"}) == len(forged) + 2
        text = log(running)
        assert good not in text and signature not in text and "key-root" not in text


def test_a_key_that_the_issuer_adds_is_found_and_one_that_it_drops_is_not_accepted(issuer):
    with guarded(issuer.config()) as (running, worker):
        assert admin(running, issuer.token())[0] == 200
        issuer.add("k2")
        del issuer.keys["k1"]
        token = issuer.token("k2")
        # Keys are fetched again after 10 s at the earliest, for a key that is not known.
        wait_for(lambda: admin(running, token)[0] == 200, "the new key", 15 + DEADLINE)
        assert admin(running, issuer.token("k1")) == (401, "Invalid JWT: the issuer has no key with this kid")
        assert issuer.fetches == ["/.well-known/openid-configuration", "/keys"] * 2


def test_an_issuer_that_is_down_or_slow_holds_up_nobody_who_has_a_known_key(issuer):
    with guarded(issuer.config()) as (running, worker):
        token = issuer.token()
        assert admin(running, token)[0] == 200
        issuer.gate.clear()
        unknown = issuer.token("other")
        before = len(issuer.fetches)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            def look():
                return before < len(issuer.fetches) or pool.submit(admin, running, unknown) and False
            wait_for(look, "a fetch that hangs", 15 + DEADLINE)
            waiting = [pool.submit(admin, running, unknown) for _ in range(3)]
            # Requests with a known key, other admin calls and serving requests go on meanwhile.
            for _ in range(20):
                assert admin(running, token)[0] == 200
                assert ask(running, "POST", "/v1/chat/completions")[0] == 200
            assert not any(each.done() for each in waiting)
            issuer.broken = True
            issuer.gate.set()
            for each in waiting:
                assert each.result(DEADLINE)[0] == 401
        assert len(issuer.fetches) == before + 1
        assert admin(running, token)[0] == 200
        assert running.metric("smg_jwks_refreshes_total", result="failure") == 1
        wait_for(lambda: "those that are there stay in use" in log(running), "the warning")


def test_without_the_issuer_at_the_start_the_shared_key_opens_admin_routes_until_it_is_there(issuer):
    issuer.broken = True
    with guarded(issuer.config('api_key = "key-shared"\n')) as (running, worker):
        wait_for(lambda: admin(running, "key-shared")[0] == 200, "the fallback")
        wait_for(lambda: "cannot be had" in log(running), "the error")
        assert admin(running, issuer.token())[0] == 401
        issuer.broken = False
        wait_for(lambda: admin(running, issuer.token())[0] == 200, "the issuer", 15 + DEADLINE)
        assert admin(running, "key-shared") == (401, "Invalid authentication token")


def test_a_client_that_leaves_while_its_token_is_verified_leaves_nothing_behind(issuer):
    with guarded(issuer.config()) as (running, worker):
        assert admin(running, issuer.token())[0] == 200
        unknown = issuer.token("other")
        wait_for(lambda: admin(running, unknown)[0] == 401 and len(issuer.fetches) == 4, "a fetch", 15 + DEADLINE)
        issuer.gate.clear()

        def hangs():
            sock = dial(running.port)
            sock.sendall(f"GET /workers HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer {unknown}\r\n\r\n".encode())
            sock.settimeout(0.2)
            try:
                sock.recv(1)
            except TimeoutError:
                return sock
            return None
        first = wait_for(hangs, "a request that waits", 15 + DEADLINE)
        others = [dial(running.port) for _ in range(50)]
        for sock in others:
            sock.sendall(f"GET /workers HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer {unknown}\r\n\r\n".encode())
        for sock in [first, *others]:
            sock.close()
        wait_for(lambda: running.metric("smg_http_connections_active") == 0, "no request")
        issuer.gate.set()
        assert admin(running, issuer.token())[0] == 200


# ---- Audit, and what gets out.

def audits(running):
    return [json.loads(line) for line in re.findall(r"audit (\{.*\})", log(running))]


def test_each_use_of_an_admin_route_is_one_audit_line():
    with guarded("[auth]\n" + ADMINS) as (running, worker):
        running.request("GET", f"/workers/{SOMEBODY}?secret=hush", headers={"X-Request-Id": "r-1", **bearer("key-root")})
        running.request("POST", "/flush_cache", headers={"X-Request-Id": "r-2", **bearer("key-reader")})
        running.request("GET", "/workers", headers={"X-Request-Id": "r-3"})
        running.get("/health")
        ask(running, "POST", "/v1/chat/completions")
        lines = wait_for(lambda: len(audits(running)) >= 3 and audits(running), "the audit lines")
        assert len(lines) == 3
        first, second, third = lines
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first.pop("timestamp"))
        assert first == {"principal": "root", "auth_method": "api_key", "role": "admin", "method": "GET", "path": f"/workers/{SOMEBODY}",
                         "resource": SOMEBODY, "outcome": "success", "request_id": "r-1", "details": ""}
        assert (second["principal"], second["role"], second["outcome"], second["request_id"]) == ("reader", "user", "denied", "r-2")
        assert (third["principal"], third["outcome"], third["details"]) == ("", "denied", "Missing or invalid Authorization header")
        assert "hush" not in log(running) and "key-" not in log(running)


def test_no_audit_where_it_is_off():
    with guarded("[auth]\ndisable_audit_logging = true\n" + ADMINS) as (running, worker):
        assert admin(running, "key-root")[0] == 200 and admin(running, "wrong")[0] == 401
        running.request("POST", "/config/reload", headers=bearer("key-root"))
        wait_for(lambda: "configuration reloaded" in log(running), "a later line")
        assert audits(running) == []


def test_no_secret_gets_out():
    """With every kind of key in use, none is in the log, in an admin answer, an event, a metric or an error."""
    with Worker() as worker:
        tables = worker_table(worker, 'api_key = "key-worker"\n')
        with Gateway([], extra=KEYS + ADMINS + '[log]\nlevel = "debug"\n' + tables, ready=False, args=("--no-watch-config",)) as running:
            running.wait_ready(1)
            root = bearer("key-root")
            said = []
            events = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60 * SLOW)
            events.request("GET", "/events", headers=root)
            stream = events.getresponse()
            assert stream.status == 200 and stream.readline().startswith(b":")

            def call(method, path, body=None, headers=None):
                sent = {"Content-Type": "application/json", **(headers if headers is not None else root)}
                status, head, answer = running.request(method, path, body, sent)
                said.append(f"{method} {path} {status} {head} {answer.decode('latin-1')}")
                return status, answer

            for key in SECRETS + ["key-wrong"]:
                for method, path in SERVING[:2] + ADMIN:
                    call(method, path, BODY if method != "GET" else None, bearer(key))
            for method, path in PUBLIC + ADMIN[:3] + [("GET", "/get_loads"), ("GET", "/plugins")]:
                call(method, path, BODY if method != "GET" else None)
            spec = {"url": "http://127.0.0.1:1", "api_key": "key-team-a"}
            assert call("POST", "/workers", json.dumps(spec))[0] == 202
            call("POST", "/workers", json.dumps({**spec, "api_key": "key-team-a \n"}))
            call("POST", "/workers", json.dumps({**spec, "api_key": ["key-team-a"]}))
            call("POST", "/workers", json.dumps({"url": "http://user:key-team-a@h"}))
            call("POST", "/workers", json.dumps({"url": "http://h/?k=key-team-a"}))
            call("GET", "/workers")
            listed = json.loads(call("GET", "/workers")[1])["workers"]
            for each in listed:
                call("GET", f"/workers/{each['id']}")
                call("PATCH", f"/workers/{each['id']}", '{"api_key":"key-team-b"}')
            text = running.config.read_text()
            for wrong in ('tenant_api_keys = ["key-team-a"]', 'tenant_api_keys = ["x:key-team-a", "y:key-team-a"]',
                          'tenant_api_keys = ["a: key-team-a"]', 'tenant_api_keys = 7'):
                running.config.write_text(text.replace('tenant_api_keys = ["a:key-team-a", "b:key-team-b"]', wrong))
                assert call("POST", "/config/reload")[0] == 400
            running.config.write_text(text.replace("key-shared", "key-fresh"))
            assert call("POST", "/config/reload")[0] == 200
            for line in stream:
                said.append(line.decode())
                if "config_applied" in said[-1]:
                    break
            events.close()
            assert len(said) > 100
            said.append(running.metrics())
            said.append(log(running))
            found = [(secret, line) for secret in SECRETS + ["key-fresh", "key-wrong"] for part in said for line in part.splitlines()
                     if secret in line]
            assert found == []


@pytest.mark.parametrize("flags", [
    ("--tenant-api-key", "hush"), ("--tenant-api-key", "a:hush", "b:hush"), ("--tenant-api-key", "a:hush "), ("--tenant-api-key", ":hush"),
    ("--api-key", "hush", "--tenant-api-key", "a:hush"), ("--api-key", "-hush"), ("--api-key", "hu sh", "--json-hush"),
])
def test_a_start_with_keys_that_cannot_be_used_fails_and_does_not_show_them(flags, tmp_path):
    result = subprocess.run([SMG, "launch", *flags], capture_output=True, text=True, env=ENV, timeout=DEADLINE)
    assert result.returncode == 2 and "api-key" in result.stderr
    shown = result.stdout + result.stderr
    assert "hush" not in shown.replace("--json-hush", "") and "hu sh" not in shown


def test_the_environment_brings_keys_that_neither_file_nor_flags_have(tmp_path, monkeypatch):
    monkeypatch.setitem(ENV, "CONTROL_PLANE_API_KEYS", "root:Root:admin:key-root")
    with guarded("") as (running, worker):
        assert admin(running, "key-root")[0] == 200 and admin(running, "other")[0] == 401


def test_a_tenant_header_opens_nothing():
    with guarded('[auth]\napi_key = "key-shared"\ntrust_tenant_header = true\n') as (running, worker):
        assert ask(running, "POST", "/v1/chat/completions", {"X-SMG-Tenant-Id": "acme"})[0] == 401
        assert ask(running, "POST", "/v1/chat/completions", {"X-SMG-Tenant-Id": "acme", **bearer("key-shared")})[0] == 200
