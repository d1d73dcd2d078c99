"""Routes that are answered here, and how bodies are refused (http-api 1.3, 1.4, 1.7, 3.1, 3.2)."""
import http.client
import json

import pytest

from support import DEADLINE, Gateway, Worker, chat, gateway, wait_for

ECHO = lambda connection, request: connection.answer(json.dumps({"path": request.target, "body": request.json()}).encode())


def test_health_is_ok_and_readiness_counts_the_workers():
    with gateway(None, None) as (running, *_):
        assert running.get("/health")[0::2] == (200, b"OK")
        assert running.get("/liveness")[0::2] == (200, b"OK")
        assert json.loads(running.get("/readiness")[2]) == {"status": "ready", "healthy_workers": 2, "total_workers": 2}


def test_without_a_worker_nothing_is_ready():
    with Gateway([], ready=False) as running:
        def answers():
            try:
                return running.get("/readiness")
            except OSError:
                return None
        status, _, body = wait_for(answers, "the gateway")
        assert (status, json.loads(body)) == (503, {"status": "not ready", "reason": "insufficient healthy workers"})
        assert running.get("/v1/models")[0::2] == (503, b"No models available")
        status, headers, body = running.chat()
        assert (status, headers["x-smg-error-code"]) == (404, "model_not_found")


def test_models_are_those_that_the_workers_name():
    with gateway(None, None) as (running, *_):
        assert json.loads(running.get("/v1/models")[2]) == {
            "object": "list", "data": [{"id": "m", "object": "model", "created": 0, "owned_by": "self_hosted"}]}


def test_an_unknown_model_is_not_found_in_the_gateways_shape():
    with gateway(None) as (running, worker):
        status, headers, body = running.chat(model="other")
        assert status == 404
        assert headers["x-smg-error-code"] == "model_not_found"
        assert json.loads(body) == {"error": {"type": "Not Found", "code": "model_not_found", "param": None,
                                              "message": "No worker available for model 'other'"}}
        assert worker.requests == []


def test_an_alias_reaches_the_worker_under_its_canonical_name():
    with gateway(ECHO, extra='[models]\naliases = { nick = "m" }') as (running, _):
        assert json.loads(running.chat(model="nick")[2])["body"]["model"] == "m"


@pytest.mark.parametrize("path, body", [
    ("/v1/chat/completions", chat()),
    ("/v1/completions", {"model": "m", "prompt": "x"}),
    ("/generate", {"text": "x"}),
    ("/v1/embeddings", {"model": "m", "input": "x"}),
    ("/v1/classify", {"model": "m", "input": "x"}),
    ("/v1/messages", {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}]}),
    ("/v1/responses", {"model": "m", "input": "x"}),
])
def test_plain_routes_pass_through(path, body):
    with gateway(ECHO) as (running, _):
        status, _, answer = running.post(path, body)
        assert (status, json.loads(answer)) == (200, {"path": path, "body": body})


RANKS = [{"score": 0.9, "index": 1, "document": "b"}, {"score": 0.1, "index": 0, "document": "a"}]


def test_a_rerank_answer_is_rebuilt():
    with gateway(lambda connection, request: connection.answer(json.dumps(RANKS).encode())) as (running, worker):
        status, _, body = running.post("/rerank", {"model": "m", "query": "q", "documents": ["a", "b"], "top_k": 1, "rid": "r1",
                                                   "return_documents": False})
        answer = json.loads(body)
        assert status == 200 and isinstance(answer.pop("created"), int)
        assert answer == {"results": [{"score": 0.9, "index": 1}], "model": "m", "usage": None, "object": "rerank", "id": "r1"}
        assert worker.requests[0].target == "/v1/rerank"
        answer = json.loads(running.post("/v1/rerank", {"query": "q", "documents": ["a", "b"]})[2])
        assert answer["results"] == RANKS and answer["model"] == "unknown"


def test_a_rerank_answer_of_another_shape_is_an_error():
    with gateway(lambda connection, request: connection.answer(b"{}")) as (running, _):
        status, headers, _ = running.post("/rerank", {"model": "m", "query": "q", "documents": ["a"]})
        assert (status, headers["x-smg-error-code"]) == (500, "rerank_response_build_failed")


@pytest.mark.parametrize("path, body, content_type, status, prefix", [
    ("/v1/chat/completions", b"{", "application/json", 400, "JSON syntax error: "),
    ("/v1/chat/completions", b'{"model":1,"messages":[]}', "application/json", 400, "Invalid JSON data: "),
    ("/v1/chat/completions", b"{}", "text/plain", 400, "Missing Content-Type: application/json header"),
    ("/generate", b"{", "application/json", 400, None),
    ("/generate", b'{"text":"x","model":1}', "application/json", 422, None),
    ("/generate", b"{}", "text/plain", 415, None),
])
def test_a_bad_body_is_refused_as_its_endpoint_does(path, body, content_type, status, prefix):
    with gateway(None) as (running, worker):
        got, headers, answer = running.request("POST", path, body, {"Content-Type": content_type})
        assert got == status
        assert headers["x-smg-error-code"] is None
        if prefix is not None:
            error = json.loads(answer)["error"]
            assert error["message"].startswith(prefix)
            assert (error["type"], error["code"]) == ("invalid_request_error", "json_parse_error")
        assert worker.requests == []


def test_a_chat_without_messages_is_refused():
    with gateway(None) as (running, _):
        status, _, body = running.post("/v1/chat/completions", {"model": "m", "messages": []})
        assert (status, json.loads(body)["error"]["code"]) == (400, 400)


def events(running, query=""):
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=DEADLINE)
    connection.request("GET", "/events" + query)
    return connection.getresponse()


def test_events_stream_what_happens_in_the_fleet():
    worker = Worker()
    worker.close()
    with Gateway([worker], ready=False) as running:
        def opened():
            try:
                return events(running, "?types=worker_status,worker_added")
            except OSError:
                return None
        stream = wait_for(opened, "the gateway")
        assert stream.headers["content-type"] == "text/event-stream"
        revived = Worker.__new__(Worker)
        import socket
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", worker.port))
        listener.listen()
        revived.__dict__.update(worker.__dict__, listener=listener, open=set(), failures=[])
        import threading
        threading.Thread(target=revived.accept, daemon=True).start()
        seen = {}
        while "worker_status" not in seen:
            line = stream.readline().decode().strip()
            if line.startswith("event: "):
                name = line[7:]
                seen[name] = json.loads(stream.readline().decode().partition("data: ")[2])
        assert set(seen) == {"worker_added", "worker_status"}
        assert seen["worker_status"]["worker"] == worker.url
        stream.close()
        revived.close()


def test_a_wrong_event_filter_is_refused():
    with gateway(None) as (running, _):
        status, _, body = running.get("/events?types=nonsense")
        assert status == 400 and b"nonsense" in body


def test_http_and_router_metrics_add_up():
    with gateway(lambda connection, request: connection.answer()) as (running, _):
        for _ in range(5):
            running.chat()
        running.get("/nowhere")
        assert running.metric("smg_http_requests_total", method="POST", path="/v1/chat/completions") == 5
        assert running.metric("smg_http_responses_total", path="/v1/chat/completions", status_code="200", error_code="") == 5
        assert running.metric("smg_http_responses_total", path="other", status_code="404") == 1
        assert running.metric("smg_router_requests_total", router_type="http", backend_type="regular", connection_mode="http",
                              model="m", endpoint="chat", streaming="false") == 5
        assert running.metric("smg_router_upstream_responses_total", status_code="200") == 5
        assert running.metric("smg_worker_selection_total", policy="round_robin", model="m") == 5
        assert running.metric("smg_http_request_duration_seconds_count", path="/v1/chat/completions") == 5
        assert running.metric("smg_router_request_duration_seconds_count", endpoint="chat") == 5
        assert running.metric("smg_http_connections_active") == 0
        assert running.metric("smg_worker_health") == 1
