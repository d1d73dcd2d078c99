"""Routes that are about the fleet: loads, caches, and what the engines say of themselves."""
import json
import re
import socket
import threading

from support import Gateway, Worker, gateway, wait_for

POLL = "[load_monitor]\ninterval_secs = 1\n"


def get_json(running, path):
    status, headers, body = running.get(path)
    assert status == 200 and headers["content-type"] == "application/json", body
    return json.loads(body)


def test_overload_9_loads_of_the_fleet():
    with Worker(models=("a",)) as first, Worker(models=("b",)) as second, Worker(models=("c",)) as silent:
        first.report(waiting=1, usage=0.37, num_running_reqs=2, num_total_reqs=3, gen_throughput=1850.5, utilization=0.41)
        second.report(waiting=2, usage=0.23, num_running_reqs=1, num_total_reqs=3, gen_throughput=1420.0, utilization=0.3)
        with Gateway([first, second, silent], extra=POLL) as running:
            loads = wait_for(lambda: len(get_json(running, "/loads")["loads"]) == 2 and get_json(running, "/loads"), "both reports")
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", loads["timestamp"])
            assert loads["version"].startswith("smg-") and loads["dp_rank_count"] == 2
            assert {entry["worker"] for entry in loads["loads"]} == {first.url, second.url}
            assert {entry["worker_type"] for entry in loads["loads"]} == {"regular"}
            total = loads["aggregate"]
            assert (total["total_running_reqs"], total["total_waiting_reqs"], total["total_reqs"]) == (3, 3, 6)
            assert abs(total["avg_token_usage"] - 0.30) < 1e-9 and abs(total["avg_throughput"] - 1635.25) < 1e-9
            assert abs(total["avg_utilization"] - 0.355) < 1e-9
            alias = get_json(running, "/get_loads")
            assert alias["loads"] == loads["loads"]
            assert [entry["worker"] for entry in get_json(running, "/loads?model=b")["loads"]] == [second.url]
            assert "aggregate" not in get_json(running, "/loads?model=c")
            # The listing comes from what was polled: no engine is asked for it.
            asked = len(first.gets)
            for _ in range(20):
                get_json(running, "/loads?model=b")
            assert len(first.gets) <= asked + 2
            # A worker whose report fails is left out.
            second.pages["/v1/loads"] = lambda connection: connection.answer(b"", "500 Internal Server Error")
            wait_for(lambda: [entry["worker"] for entry in get_json(running, "/loads")["loads"]] == [first.url], "the report to go")


def test_worker_shows_its_report():
    with Worker() as worker:
        worker.report(waiting=3, usage=0.5)
        with Gateway([worker], extra=POLL) as running:
            def shown():
                return get_json(running, "/workers")["workers"][0].get("engine_load")
            report = wait_for(shown, "the report")
            assert report["timestamp"] == "now" and report["dp_rank_count"] == 1
            assert report["loads"][0]["num_waiting_reqs"] == 3 and report["loads"][0]["token_usage"] == 0.5


def test_flush_cache():
    flushed = []

    def script(connection, request):
        flushed.append(request.target)
        connection.answer(b"")

    with gateway(script, script) as (running, *_):
        status, _, body = running.request("POST", "/flush_cache")
        assert status == 200 and flushed == ["/flush_cache"] * 2
        assert json.loads(body) == {"status": "success", "message": "Successfully flushed cache on all 2 workers", "workers_flushed": 2,
                                    "total_http_workers": 2, "total_grpc_workers": 0, "total_zmq_workers_skipped": 0, "total_workers": 2}


def test_flush_cache_that_fails_in_part():
    def refuse(connection, request):
        connection.answer(b"", "500 Internal Server Error")

    def reset(connection, request):
        connection.reset()

    with gateway(lambda connection, request: connection.answer(b""), refuse, reset) as (running, good, bad, gone):
        status, _, body = running.request("POST", "/flush_cache")
        answer = json.loads(body)
        assert status == 206 and answer["status"] == "partial_success" and answer["workers_flushed"] == 1
        assert answer["successful"] == [good.url]
        failed = {entry["worker"]: entry["error"] for entry in answer["failed"]}
        assert failed[bad.url] == "HTTP 500" and failed[gone.url]


def test_without_workers():
    with Gateway([], ready=False) as running:
        running.wait_listening()
        status, _, body = running.request("POST", "/flush_cache")
        assert status == 200 and json.loads(body)["message"] == "No workers available for cache flush"
        status, headers, body = running.get("/engine_metrics")
        assert status == 500 and body == b"No available workers" and headers["content-type"].startswith("text/plain")
        for path in ("/get_model_info", "/get_server_info", "/health_generate"):
            status, headers, body = running.get(path)
            assert status == 503 and headers["x-smg-error-code"] == "no_workers"
            assert json.loads(body)["error"]["code"] == "no_workers"
        assert get_json(running, "/loads")["loads"] == []
        assert get_json(running, "/workers") == {"total": 0, "workers": [],
                                                 "stats": {"prefill_count": 0, "decode_count": 0, "regular_count": 0}}


def test_engine_metrics():
    with Worker() as first, Worker() as second, Worker() as broken:
        first.pages["/metrics"] = b'# TYPE vllm:running gauge\nvllm:running{model="a"} 3\n'
        second.pages["/metrics"] = b"# TYPE vllm:running gauge\nvllm:running 4\n"
        broken.pages["/metrics"] = b"<html>\n"
        with Gateway([first, second, broken]) as running:
            status, headers, body = running.get("/engine_metrics")
            assert status == 200 and headers["content-type"].startswith("text/plain")
            lines = body.decode().splitlines()
            assert lines[0] == "# TYPE vllm_running gauge"
            assert sorted(lines[1:]) == sorted([f'vllm_running{{model="a",worker_addr="{first.url}"}} 3',
                                                f'vllm_running{{model="",worker_addr="{second.url}"}} 4'])
            for worker in (first, second):
                worker.pages["/metrics"] = b"{}"
            assert running.get("/engine_metrics")[2] == b"All backend requests failed"


def test_what_a_worker_says_of_itself():
    with Worker() as worker:
        worker.pages["/get_model_info"] = {"model_path": "/m"}
        worker.pages["/get_server_info"] = {"version": "1"}
        worker.pages["/health_generate"] = lambda connection: connection.answer(b"sick", "503 Service Unavailable")
        with Gateway([worker]) as running:
            assert get_json_any(running, "/get_model_info") == {"model_path": "/m"}
            assert get_json_any(running, "/get_server_info") == {"version": "1"}
            status, _, body = running.get("/health_generate")
            assert status == 503 and body == b"sick"
            worker.pages["/get_model_info"] = lambda connection: connection.reset()
            status, headers, body = running.get("/get_model_info")
            assert status == 500 and headers["x-smg-error-code"] == "call_upstream_request_error"
            assert worker.url in json.loads(body)["error"]["message"]


def get_json_any(running, path):
    status, _, body = running.get(path)
    assert status == 200
    return json.loads(body)


def test_client_that_leaves_a_slow_call_costs_nothing():
    asked, go_on = threading.Event(), threading.Event()

    def slow(connection, request):
        asked.set()
        go_on.wait(30)
        connection.answer(b"")

    with gateway(slow) as (running, _):
        sock = socket.create_connection(("127.0.0.1", running.port))
        sock.sendall(b"POST /flush_cache HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        assert asked.wait(30)
        sock.close()
        wait_for(lambda: running.metric("smg_http_connections_active") == 0, "the request to be given up")
        go_on.set()
        assert running.get("/health")[0] == 200


def test_gateway_stops_while_a_call_runs():
    asked, go_on = threading.Event(), threading.Event()

    def slow(connection, request):
        asked.set()
        go_on.wait(30)

    with gateway(slow) as (running, _):
        client = threading.Thread(target=lambda: ignore(lambda: running.request("POST", "/flush_cache")))
        client.start()
        assert asked.wait(30)
    go_on.set()
    client.join()


def ignore(action):
    try:
        action()
    except Exception:
        pass


def test_disaggregated_figures_and_their_end():
    with Worker() as worker:
        worker.report(disagg_mode="prefill", kv_transfer_latency_ms=1.5, prefill_queue_reqs=7)
        with Gateway([worker], extra=POLL + "[health_check]\ndrain_settle_secs = 0\n") as running:
            def value(name):
                return running.metric(name, worker=worker.url, role="prefill", dp_rank="0")
            wait_for(lambda: value("smg_engine_pd_prefill_queue_reqs") == 7, "the report")
            assert value("smg_engine_pd_kv_transfer_latency_ms") == 1.5
            worker_id = get_json(running, "/workers")["workers"][0]["id"]
            running.request("DELETE", f"/workers/{worker_id}")
            wait_for(lambda: value("smg_engine_pd_prefill_queue_reqs") == -1, "the removal")
            for name in ("smg_engine_waiting_requests", "smg_engine_token_usage"):
                assert running.metric(name, worker=worker.url, model="m", dp_rank="0") == -1


def test_connections_and_routing_keys():
    began, go_on = threading.Semaphore(0), threading.Event()

    def script(connection, request):
        began.release()
        go_on.wait(30)
        connection.answer()

    with gateway(script) as (running, worker):
        def ask(key):
            headers = {"X-SMG-Routing-Key": key} if key else {}
            running.post("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "hi"}]}, headers)
        clients = [threading.Thread(target=ask, args=(key,)) for key in ("a", "a", "b", None)]
        for client in clients:
            client.start()
        for _ in clients:
            assert began.acquire(timeout=30)
        assert running.metric("smg_worker_connections_active", worker_type="regular", connection_mode="http") == 4
        assert running.metric("smg_worker_routing_keys_active", worker=worker.url) == 2
        go_on.set()
        for client in clients:
            client.join()
        wait_for(lambda: running.metric("smg_worker_connections_active") == 0, "the connections to be free")
        assert running.metric("smg_worker_routing_keys_active", worker=worker.url) == 0


def test_polling_can_be_left_out_where_nothing_needs_it():
    for policy, polled in (("round_robin", False), ("least_load", True)):
        with Worker() as worker:
            worker.report()
            with Gateway([worker], policy=policy, extra=POLL + "[health_check]\ncheck_interval_secs = 1\n",
                         args=("--disable-load-monitoring", "--disable-worker-overload-protection")) as running:
                if polled:
                    wait_for(lambda: get_json(running, "/loads")["loads"], "a report")
                else:
                    # By the last of these probes three polls would have been due.
                    wait_for(lambda: len(worker.probes) >= 5, "probes")
                    assert not [request for request in worker.gets if "loads" in request.target]


def test_metrics_that_would_grow_without_end_are_left_out():
    with Worker() as wild, Worker() as good:
        wild.pages["/metrics"] = b"".join(b'a{b%d=""} 1\n' % number for number in range(30000))
        good.pages["/metrics"] = b"fine 1\n"
        with Gateway([wild, good]) as running:
            status, _, body = running.get("/engine_metrics")
            assert status == 200 and body == f'fine{{worker_addr="{good.url}"}} 1\n'.encode()


def test_head_of_the_event_stream_ends():
    with gateway(lambda connection, request: connection.answer()) as (running, _):
        with socket.create_connection(("127.0.0.1", running.port), timeout=10) as sock:
            sock.sendall(b"HEAD /events HTTP/1.1\r\nHost: x\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            text = b""
            while part := sock.recv(4096):
                text += part
        assert b"text/event-stream" in text and text.endswith(b"\r\n\r\nOK")


def test_removed_workers_leave_no_pool_behind():
    with gateway(lambda connection, request: connection.answer(), extra="[health_check]\ndrain_settle_secs = 0\n") as (running, _):
        worker_id = get_json(running, "/workers")["workers"][0]["id"]
        assert running.metric("smg_worker_pool_size") == 1
        running.request("DELETE", f"/workers/{worker_id}")
        wait_for(lambda: get_json(running, "/workers")["total"] == 0, "the removal")
        wait_for(lambda: running.metric("smg_worker_pool_size") == 0, "the pool to be gone")
        status, _, body = running.request("POST", "/workers", json.dumps({"url": "http://127.0.0.1:1"}), {"Content-Type": "application/json"})
        assert status == 202 and "127.0.0.1:1\"" not in running.metrics()
