"""Which headers pass, in both directions (http-api 3.3 to 3.5, 3.7)."""
import json
import re

from support import gateway


def echo(connection, request):
    connection.answer(json.dumps(request.headers).encode())


def forwarded(running, headers):
    status, _, body = running.post("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "x"}]}, headers)
    assert status == 200
    return {key.lower(): value for key, value in json.loads(body)}


def test_only_the_allow_list_reaches_a_worker():
    with gateway(echo) as (running, worker):
        seen = forwarded(running, {
            "Authorization": "Bearer k", "X-Request-Id": "r", "X-Correlation-Id": "c", "traceparent": "t", "tracestate": "s",
            "X-SMG-Routing-Key": "key", "X-Request-Id-Parent": "p", "Cookie": "no", "X-Api-Key": "no", "Accept-Encoding": "gzip",
            "X-Custom": "no", "X-SMG-Priority": "no", "User-Agent": "no"})
        assert seen == {
            "host": f"127.0.0.1:{worker.port}", "authorization": "Bearer k", "x-request-id": "r", "x-correlation-id": "c",
            "traceparent": "t", "tracestate": "s", "x-smg-routing-key": "key", "x-request-id-parent": "p",
            "content-type": "application/json", "content-length": seen["content-length"]}


def test_the_workers_own_key_stands_in_for_a_missing_credential():
    with gateway(echo, extra="") as (running, _):
        assert "authorization" not in forwarded(running, {})


def test_an_id_is_made_by_path_and_a_clients_id_is_echoed():
    with gateway(lambda connection, request: connection.answer(headers=[("x-request-id", "of-the-worker")])) as (running, _):
        _, headers, _ = running.chat()
        assert re.fullmatch(r"chatcmpl-[A-Za-z0-9]{24}", headers["x-request-id"])
        for name in ("x-request-id", "x-correlation-id", "x-trace-id", "request-id"):
            _, headers, _ = running.post("/v1/chat/completions",
                                         {"model": "m", "messages": [{"role": "user", "content": "x"}]}, {name: "mine"})
            assert headers["x-request-id"] == "mine"


def test_hop_by_hop_fields_and_the_error_code_do_not_come_back():
    def script(connection, request):
        connection.answer(b"{}", "400 Bad Request", [
            ("Connection", "keep-alive"), ("Keep-Alive", "timeout=5"), ("X-SMG-Error-Code", "worker_overload_protection_shed"),
            ("Content-Encoding", "identity"), ("Upgrade", "h2c"), ("X-Kept", "1"), ("X-Kept", "2"),
            ("x-smg-routed-worker-id", "elsewhere"), ("Proxy-Authenticate", "Basic")])

    with gateway(script) as (running, worker):
        status, headers, body = running.chat()
        assert (status, body) == (400, b"{}")
        for name in ("keep-alive", "x-smg-error-code", "content-encoding", "upgrade", "proxy-authenticate"):
            assert headers[name] is None
        assert headers.get_all("x-kept") == ["2"]
        assert headers.get_all("x-smg-routed-worker-id") == [worker.url]


def test_a_stream_is_an_event_stream_whatever_the_worker_says():
    with gateway(lambda connection, request: connection.answer(b"{}", headers=[("Content-Type", "application/json")])) as (running, _):
        assert running.chat(stream=True)[1].get_all("content-type") == ["text/event-stream"]
        assert running.chat()[1].get_all("content-type") == ["application/json"]


def test_any_origin_is_allowed_unless_origins_are_configured():
    with gateway(echo) as (running, _):
        _, headers, _ = running.request("OPTIONS", "/v1/chat/completions", headers={
            "Origin": "http://a", "Access-Control-Request-Method": "POST"})
        assert headers["access-control-allow-origin"] == "*"
        assert headers["access-control-max-age"] == "3600"
        assert running.get("/health", {"Origin": "http://a"})[1]["access-control-allow-origin"] == "*"
    with gateway(echo, server='cors_allowed_origins = ["http://good"]') as (running, _):
        assert running.get("/health", {"Origin": "http://good"})[1]["access-control-allow-origin"] == "http://good"
        assert running.get("/health", {"Origin": "http://bad"})[1]["access-control-allow-origin"] is None
        _, headers, _ = running.request("OPTIONS", "/health", headers={
            "Origin": "http://good", "Access-Control-Request-Method": "GET"})
        assert headers["access-control-allow-methods"] == "GET, POST, PATCH, DELETE, OPTIONS"
