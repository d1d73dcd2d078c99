"""/workers: what is registered, and changing it while requests run."""
import json
import re
import threading
import time

import pytest

from support import Gateway, Worker, gateway, wait_for

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
SETTLE = "[health_check]\ndrain_settle_secs = {}\n"


def call(running, method, path, value=None):
    body = None if value is None else json.dumps(value)
    status, headers, body = running.request(method, path, body, {"Content-Type": "application/json"} if body else {})
    return status, headers, json.loads(body) if headers.get("content-type") == "application/json" else body


def workers(running, query=""):
    return call(running, "GET", "/workers" + query)[2]


def wait_registered(running, url):
    def find():
        return next((item for item in workers(running)["workers"] if item["url"] == url and item["is_healthy"]), None)
    return wait_for(find, f"{url} to be ready")


def add(running, worker, **fields):
    status, headers, body = call(running, "POST", "/workers", {"url": worker.url, **fields})
    assert status == 202, body
    return body["worker_id"]


def test_added_worker_serves():
    with Worker() as worker, Gateway([], ready=False) as running:
        running.wait_listening()
        assert running.chat()[0] == 404
        status, headers, body = call(running, "POST", "/workers", {"url": worker.url, "priority": 7, "labels": {"a": "b"}})
        assert status == 202 and UUID.fullmatch(body["worker_id"])
        assert headers["Location"] == f"/workers/{body['worker_id']}" == body["location"]
        assert body == {"status": "accepted", "worker_id": body["worker_id"], "url": worker.url, "location": body["location"],
                        "message": "Worker addition queued for background processing"}
        shown = wait_registered(running, worker.url)
        assert shown["id"] == body["worker_id"] and shown["model_id"] == "m" and shown["status"] == "ready"
        assert shown["priority"] == 7 and shown["labels"]["a"] == "b" and shown["load"] == 0
        assert shown["runtime_type"] == "vllm" and shown["connection_mode"] == "http" and shown["worker_type"] == "regular"
        assert "api_key" not in shown and "health" not in shown and "overload" not in shown
        assert running.chat()[0] == 200


def test_list_filters_and_counts():
    with Worker(models=("a",)) as first, Worker(models=("b",)) as second, Gateway([first, second]) as running:
        everything = workers(running)
        assert everything["total"] == 2
        assert everything["stats"] == {"prefill_count": 0, "decode_count": 0, "regular_count": 2}
        assert [item["url"] for item in workers(running, "?model=b")["workers"]] == [second.url]
        assert workers(running, "?model=nobody")["workers"] == []
        status, _, body = running.get("/workers?model=%zz")
        assert status == 400 and b"'model'" in body


def test_posting_twice():
    with gateway(lambda connection, request: connection.answer()) as (running, worker):
        worker_id = workers(running)["workers"][0]["id"]
        status, _, body = call(running, "POST", "/workers", {"url": worker.url})
        assert status == 409 and body["code"] == "WORKER_ALREADY_EXISTS"
        assert "PUT" in body["error"] and "PATCH" in body["error"] and worker_id in body["error"]


def test_worker_that_is_not_up_yet():
    with gateway(lambda connection, request: connection.answer()) as (running, _):
        url = "http://127.0.0.1:1"
        first = call(running, "POST", "/workers", {"url": url})[2]["worker_id"]
        again = call(running, "POST", "/workers", {"url": url})[2]["worker_id"]
        assert first == again
        status, _, shown = call(running, "GET", f"/workers/{first}")
        assert status == 200 and shown["status"] == "pending" and shown["is_healthy"] is False and shown["load"] == 0
        assert shown["job_status"]["job_type"] == "AddWorker" and shown["job_status"]["worker_url"] == url
        assert shown["job_status"]["status"] in ("pending", "processing")
        assert abs(shown["job_status"]["timestamp"] - time.time()) < 60
        # It is in no pool: the other worker answers, nothing waits for it.
        assert workers(running)["total"] == 1 and running.chat()[0] == 200
        assert call(running, "DELETE", f"/workers/{first}")[0] == 202
        assert call(running, "GET", f"/workers/{first}")[0] == 404


def test_worker_that_never_comes_up_leaves_a_failed_job():
    with gateway(lambda connection, request: connection.answer(),
                 server="worker_startup_timeout_secs = 1") as (running, _):
        worker_id = call(running, "POST", "/workers", {"url": "http://127.0.0.1:1"})[2]["worker_id"]

        def job():
            return call(running, "GET", f"/workers/{worker_id}")[2].get("job_status", {})
        wait_for(lambda: job().get("status") == "failed", "the job to fail")
        assert "http://127.0.0.1:1 did not come up in time" in job()["message"]
        assert workers(running)["total"] == 1


@pytest.mark.parametrize("body, status, reason", [
    (b"{", 400, "JSON syntax error"),
    (b"[]", 422, "must be an object"),
    (b"{}", 422, "missing field: url"),
    (b'{"url": 5}', 422, "url: is 5, must be a string"),
    (b'{"url": "http://w:1", "priority": "high"}', 422, "priority: is a string, must be an integer from 0 to 4294967295"),
    (b'{"url": "http://w:1", "priority": -1}', 422, "priority: is -1"),
    (b'{"url": "http://w:1", "priority": 4294967296}', 422, "priority: is 4294967296"),
    (b'{"url": "http://w:1", "cost": null}', 422, "cost: is null, must be a number"),
    (b'{"url": "http://w:1", "overload": {"waiting_requests": "8"}}', 422, "overload.waiting_requests: is a string"),
    (b'{"url": "http://w:1", "overload": {"token_usage": true}}', 422, "overload.token_usage: is a boolean"),
    (b'{"url": "http://w:1", "overload": 1}', 422, "overload: is 1, must be an object"),
    (b'{"url": "http://w:1", "labels": {"a": 1}}', 422, "labels: is 1, must be an object of strings"),
    (b'{"url": "http://w:1", "worker_type": "big"}', 422, "worker_type"),
    (b'{"url": "http://w:1", "runtime_type": "abacus"}', 422, "runtime_type"),
    (b'{"url": "http://w:1", "models": ["m"]}', 422, "models[0]: is a string, must be a model card"),
    (b'{"url": "http://w:1", "models": [{}]}', 422, "models[0].id"),
    (b'{"url": "ftp://w:1"}', 400, "BAD_REQUEST"),
    (b'{"url": "HTTP://w:1"}', 400, "BAD_REQUEST"),
    (b'{"url": "w:8000"}', 400, "BAD_REQUEST"),
    (b'{"url": "http://"}', 400, "BAD_REQUEST"),
    (b'{"url": "http://user:secret@w"}', 400, "BAD_REQUEST"),
    (b'{"url": "http://w:1", "resilience": {"max_retries": 0}}', 400, "resilience.max_retries is 0, must be at least 1"),
    (b'{"url": "http://w:1", "resilience": {"jitter_factor": 1.5}}', 400, "resilience.jitter_factor"),
])
def test_wrong_bodies(admin_gateway, body, status, reason):
    got, _, text = admin_gateway.post("/workers", body)
    assert got == status and reason in text.decode(), text
    assert b"secret" not in text
    if status == 400 and reason == "BAD_REQUEST":
        assert json.loads(text)["code"] == "BAD_REQUEST"
    assert workers(admin_gateway)["total"] == 1


@pytest.fixture(scope="module")
def admin_gateway():
    with gateway(lambda connection, request: connection.answer()) as (running, _):
        yield running


def test_content_type_is_needed(admin_gateway):
    assert admin_gateway.request("POST", "/workers", b'{"url": "http://w:1"}')[0] == 415


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_wrong_ids(admin_gateway, method):
    body = {"url": "http://w:1"} if method in ("PUT", "PATCH") else None
    status, _, answer = call(admin_gateway, method, "/workers/not-an-id", body)
    assert status == 400 and answer["code"] == "BAD_REQUEST" and "not-an-id" in answer["error"]
    unknown = "123e4567-e89b-42d3-a456-426614174000"
    status, _, answer = call(admin_gateway, method, f"/workers/{unknown}", body)
    assert status == 404 and answer["code"] == "WORKER_NOT_FOUND" and unknown in answer["error"]


def test_wrong_methods_and_paths(admin_gateway):
    assert admin_gateway.request("DELETE", "/workers")[0] == 405
    assert admin_gateway.request("POST", "/loads")[0] == 405
    assert admin_gateway.get("/workers/a/b")[0] == 404
    assert admin_gateway.get("/workers/")[0] == 404


@pytest.mark.parametrize("overload, reason", [
    ({"waiting_requests": 0}, "sets overload.waiting_requests to 0: Must be >= 1"),
    ({"token_usage": 1.5}, "sets overload.token_usage to 1.5: Must be a fraction in (0.0, 1.0]"),
    ({"token_usage": 0}, "sets overload.token_usage to 0: Must be a fraction in (0.0, 1.0]"),
])
def test_overload_1_3_4_out_of_range_fails_the_job(admin_gateway, overload, reason):
    with Worker() as worker:
        worker_id = add(admin_gateway, worker, overload=overload)
        shown = call(admin_gateway, "GET", f"/workers/{worker_id}")[2]
        assert shown["job_status"]["status"] == "failed"
        assert f"worker {worker.url} {reason}" in shown["job_status"]["message"]
        assert workers(admin_gateway)["total"] == 1


def test_unserved_kinds_fail_the_job(admin_gateway):
    for fields, reason in [({"url": "grpc://127.0.0.1:1"}, "scheme 'grpc'"),
                           ({"url": "http://127.0.0.1:1", "worker_type": "prefill"}, "regular workers only"),
                           ({"url": "http://127.0.0.1:1", "runtime_type": "external"}, "no providers")]:
        status, _, body = call(admin_gateway, "POST", "/workers", fields)
        assert status == 202
        job = call(admin_gateway, "GET", f"/workers/{body['worker_id']}")[2]["job_status"]
        assert job["status"] == "failed" and reason in job["message"]


def test_model_cards_and_aliases():
    card = {"id": "big", "aliases": ["gpt-4"], "context_length": 4096, "metadata": {"x": [1]}}
    with Worker() as worker, gateway(lambda connection, request: connection.answer()) as (running, _):
        add(running, worker, models=[card], bootstrap_port=99, unknown_field=1)
        shown = wait_registered(running, worker.url)
        assert shown["models"] == [{"model_type": ["chat", "completions", "responses", "tools"], **card}]
        assert shown["bootstrap_port"] == 99 and "unknown_field" not in shown
        assert [item["url"] for item in workers(running, "?model=gpt-4")["workers"]] == [worker.url]
        assert running.chat(model="gpt-4")[0] == 200
        assert worker.requests[-1].json()["model"] == "big"
        assert "gpt-4" not in running.get("/v1/models")[2].decode()


def test_patch_keeps_what_it_does_not_name():
    with Worker() as worker, gateway(lambda connection, request: connection.answer()) as (running, _):
        worker_id = add(running, worker, priority=3, labels={"a": "1", "b": "2"}, overload={"waiting_requests": 4},
                        load_monitor_interval_secs=3, bootstrap_port=99)
        wait_registered(running, worker.url)
        status, _, body = call(running, "PATCH", f"/workers/{worker_id}",
                               {"cost": 2.5, "labels": {"b": "x", "c": "3"}, "overload": {"waiting_requests": 9}})
        assert status == 202 and body == {"status": "accepted", "worker_id": worker_id,
                                          "message": "Worker update queued for background processing"}
        shown = call(running, "GET", f"/workers/{worker_id}")[2]
        assert shown["cost"] == 2.5 and shown["priority"] == 3 and shown["status"] == "ready"
        assert {key: shown["labels"][key] for key in "abc"} == {"a": "1", "b": "x", "c": "3"}
        assert shown["overload"] == {"waiting_requests": 4} and shown["load_monitor_interval_secs"] == 3
        assert shown["bootstrap_port"] == 99
        assert call(running, "PATCH", f"/workers/{worker_id}", {"priority": "x"})[0] == 422


def test_patched_key_is_used_for_requests_and_probes():
    with Worker() as worker, gateway(lambda connection, request: connection.answer(),
                                     extra="[health_check]\ncheck_interval_secs = 1\n") as (running, _):
        worker_id = add(running, worker, api_key="old", models=[{"id": "keyed"}])
        wait_registered(running, worker.url)
        assert running.chat(model="keyed")[0] == 200
        assert worker.requests[-1].header("authorization") == "Bearer old"
        assert call(running, "PATCH", f"/workers/{worker_id}", {"api_key": "new"})[0] == 202
        wait_for(lambda: running.chat(model="keyed")[0] == 200 and worker.requests[-1].header("authorization") == "Bearer new",
                 "a request with the new key")
        wait_for(lambda: any(probe.header("authorization") == "Bearer new" for probe in worker.probes), "a probe with the new key")


def test_put_registers_anew():
    with Worker() as worker, gateway(lambda connection, request: connection.answer()) as (running, _):
        worker_id = add(running, worker, priority=3, overload={"waiting_requests": 4})
        wait_registered(running, worker.url)
        status, _, body = call(running, "PUT", f"/workers/{worker_id}", {"url": "http://127.0.0.1:1"})
        assert status == 400 and body["code"] == "BAD_REQUEST" and worker.url in body["error"]
        worker.models = ("renamed",)
        status, _, body = call(running, "PUT", f"/workers/{worker_id}", {"url": worker.url})
        assert status == 202 and body["worker_id"] == worker_id

        def shown():
            return call(running, "GET", f"/workers/{worker_id}")[2]
        wait_for(lambda: shown()["model_id"] == "renamed", "the update")
        assert shown()["priority"] == 50 and "overload" not in shown() and shown()["status"] == "ready"
        assert running.chat(model="renamed")[0] == 200


def test_put_that_cannot_reach_the_worker_changes_nothing():
    with Worker() as worker, gateway(lambda connection, request: connection.answer()) as (running, _):
        worker_id = add(running, worker, priority=3)
        wait_registered(running, worker.url)
        worker.healthy = False
        assert call(running, "PUT", f"/workers/{worker_id}", {"url": worker.url, "priority": 9})[0] == 202
        wait_for(lambda: worker.probes and worker.probes[-1].target == "/health", "the look")
        shown = call(running, "GET", f"/workers/{worker_id}")[2]
        assert shown["priority"] == 3 and shown["status"] == "ready"
        assert shown["job_status"]["job_type"] == "UpdateWorker"
        # A removal meanwhile makes the update fail.
        worker.healthy = True


def test_delete_drains_first():
    began = threading.Event()
    go_on = threading.Event()

    def script(connection, request):
        connection.start_stream()
        connection.event("one")
        began.set()
        assert go_on.wait(30)
        connection.event("two")
        connection.end_stream()

    with gateway(script, extra=SETTLE.format(1)) as (running, worker):
        answer = []
        client = threading.Thread(target=lambda: answer.append(running.chat(stream=True)))
        client.start()
        assert began.wait(30)
        worker_id = workers(running)["workers"][0]["id"]
        status, _, body = call(running, "DELETE", f"/workers/{worker_id}")
        assert status == 202 and body == {"status": "accepted", "worker_id": worker_id,
                                          "message": "Worker removal queued for background processing"}
        shown = call(running, "GET", f"/workers/{worker_id}")[2]
        assert shown["status"] == "draining" and shown["load"] == 1
        assert shown["job_status"]["job_type"] == "RemoveWorker"
        assert running.chat()[0] == 503
        wait_for(lambda: call(running, "GET", f"/workers/{worker_id}")[0] == 404, "the worker to leave")
        assert running.metric("smg_worker_health", worker=worker.url) == -1
        assert running.metric("smg_worker_cb_state", worker=worker.url) == -1
        go_on.set()
        client.join()
        assert answer[0][0] == 200 and answer[0][2].endswith(b"data: two\n\n")
        assert running.chat()[0] == 404
        assert running.metric("smg_worker_requests_active", worker=worker.url) == 0


def test_delete_without_settling_and_coming_back():
    with gateway(lambda connection, request: connection.answer(), extra=SETTLE.format(0)) as (running, worker):
        first = workers(running)["workers"][0]["id"]
        assert call(running, "DELETE", f"/workers/{first}")[0] == 202
        wait_for(lambda: workers(running)["total"] == 0, "the worker to leave")
        second = add(running, worker)
        assert second != first
        wait_registered(running, worker.url)
        assert running.chat()[0] == 200
        assert running.metric("smg_worker_health", worker=worker.url) == 1


def test_patch_while_draining_does_not_keep_the_worker():
    with gateway(lambda connection, request: connection.answer(), extra=SETTLE.format(1)) as (running, worker):
        worker_id = workers(running)["workers"][0]["id"]
        call(running, "DELETE", f"/workers/{worker_id}")
        assert call(running, "PATCH", f"/workers/{worker_id}", {"priority": 1, "health": {"disable_health_check": True}})[0] == 202
        assert call(running, "GET", f"/workers/{worker_id}")[2]["status"] == "draining"
        wait_for(lambda: workers(running)["total"] == 0, "the worker to leave")


def test_failed_worker_can_be_switched_to_unchecked():
    with gateway(lambda connection, request: connection.answer(),
                 extra="[health_check]\ncheck_interval_secs = 1\nfailure_threshold = 1\n") as (running, worker):
        worker_id = workers(running)["workers"][0]["id"]
        worker.healthy = False
        wait_for(lambda: call(running, "GET", f"/workers/{worker_id}")[2]["status"] == "not_ready", "the worker to fail")
        call(running, "PATCH", f"/workers/{worker_id}", {"health": {"disable_health_check": True}})
        shown = call(running, "GET", f"/workers/{worker_id}")[2]
        assert shown["status"] == "ready" and shown["is_healthy"]
        assert running.chat()[0] == 200


def test_retry_overrides_of_a_worker_hold_for_its_model():
    refusals = []

    def script(connection, request):
        refusals.append(1)
        connection.answer(b"busy", "503 Service Unavailable")
    with Worker(script) as worker, Worker(models=("other",)) as other, Gateway([other]) as running:
        add(running, worker, resilience={"max_retries": 2, "initial_backoff_ms": 1})
        wait_registered(running, worker.url)
        assert running.chat()[0] == 503 and len(refusals) == 2
    refusals.clear()
    with Worker(script) as worker, Worker(models=("other",)) as other, Gateway([other]) as running:
        add(running, worker, resilience={"disable_retry": True})
        wait_registered(running, worker.url)
        assert running.chat()[0] == 503 and len(refusals) == 1


def test_no_request_is_lost_while_workers_come_and_go():
    stop = threading.Event()
    failures, done = [], [0]

    def load(running):
        while not stop.is_set():
            status, _, body = running.chat()
            done[0] += 1
            if status != 200:
                failures.append((status, body))

    with Worker() as steady, Worker() as guest, Gateway([steady], extra=SETTLE.format(1)) as running:
        clients = [threading.Thread(target=load, args=(running,)) for _ in range(4)]
        for client in clients:
            client.start()
        try:
            for round_number in range(4):
                worker_id = add(running, guest, priority=round_number)
                wait_registered(running, guest.url)
                served = len(guest.requests)
                wait_for(lambda: len(guest.requests) > served + 5, "the guest to be used")
                for change in range(10):
                    assert call(running, "PATCH", f"/workers/{worker_id}", {"priority": change, "api_key": str(change)})[0] == 202
                assert call(running, "PUT", f"/workers/{worker_id}", {"url": guest.url})[0] == 202
                wait_for(lambda: "job_status" not in call(running, "GET", f"/workers/{worker_id}")[2], "the update")
                assert call(running, "DELETE", f"/workers/{worker_id}")[0] == 202
                wait_for(lambda: workers(running)["total"] == 1, "the guest to leave")
        finally:
            stop.set()
            for client in clients:
                client.join()
        assert not failures and done[0] > 100
        assert done[0] == len(steady.requests) + len(guest.requests)


def test_late_poll_never_flags_the_new_worker():
    """A poll that is under way while the worker is deleted and registered again."""
    asked, go_on = threading.Event(), threading.Event()

    def slow_page(connection):
        asked.set()
        go_on.wait(30)
        connection.answer(json.dumps({"loads": [{"num_waiting_reqs": 99}]}).encode())

    with Worker() as worker:
        worker.pages["/v1/loads"] = slow_page
        with Gateway([worker], extra=SETTLE.format(0) + "[load_monitor]\ninterval_secs = 30\n") as running:
            assert asked.wait(30)
            worker.report(waiting=0)
            worker_id = workers(running)["workers"][0]["id"]
            call(running, "DELETE", f"/workers/{worker_id}")
            wait_for(lambda: workers(running)["total"] == 0, "the worker to leave")
            add(running, worker)
            wait_for(lambda: wait_registered(running, worker.url).get("engine_load"), "a report")
            go_on.set()
            wait_for(lambda: running.chat()[0] == 200, "an answer")
            shown = workers(running)["workers"][0]
            assert shown["engine_load"]["loads"][0]["num_waiting_reqs"] == 0
            assert running.metric("smg_workers_overloaded", model="m") == 0


@pytest.mark.parametrize("change", ["put", "patch", "delete"])
def test_overload_4_4_a_change_clears_the_verdict(change):
    with Worker() as worker, Worker() as other:
        worker.report(waiting=50)
        other.report(waiting=0)
        with Gateway([worker, other], extra=SETTLE.format(0) + "[load_monitor]\ninterval_secs = 60\n") as running:
            wait_for(lambda: running.metric("smg_workers_overloaded", model="m") == 1, "the verdict")
            worker_id = next(item["id"] for item in workers(running)["workers"] if item["url"] == worker.url)
            worker.report(waiting=0)
            if change == "put":
                call(running, "PUT", f"/workers/{worker_id}", {"url": worker.url})
            elif change == "patch":
                call(running, "PATCH", f"/workers/{worker_id}", {"priority": 1})
            else:
                call(running, "DELETE", f"/workers/{worker_id}")
            wait_for(lambda: running.metric("smg_workers_overloaded", model="m") == 0, "the verdict to be cleared")
            if change != "delete":
                served = len(worker.requests)
                wait_for(lambda: running.chat()[0] == 200 and len(worker.requests) > served, "the worker to be used again")




@pytest.mark.parametrize("key", ["a\r\nX-Evil: 1", "k\n", "a\0b", "two words"])
def test_key_that_would_write_headers_is_refused(admin_gateway, key):
    worker_id = workers(admin_gateway)["workers"][0]["id"]
    for method, path, body in [("PATCH", f"/workers/{worker_id}", {"api_key": key}),
                               ("POST", "/workers", {"url": "http://127.0.0.1:1", "api_key": key})]:
        status, _, answer = call(admin_gateway, method, path, body)
        assert status == 400 and answer["error"].startswith("api_key must be") and "Evil" not in answer["error"]
    assert workers(admin_gateway)["total"] == 1


def test_repeated_posts_to_a_full_queue_are_all_answered():
    hold = threading.Event()
    with Worker() as silent, Gateway([], ready=False, args=("--job-queue-capacity", "1", "--job-queue-concurrency", "1")) as running:
        running.wait_listening()
        silent.healthy_page = lambda connection: hold.wait(30)
        answered = []

        def post(port):
            answered.append(call(running, "POST", "/workers", {"url": f"http://127.0.0.1:{port}"})[0])
        post(silent.port)
        wait_for(lambda: silent.probes, "the look that takes its time")
        clients = [threading.Thread(target=post, args=(port,)) for port in (2, 3, 3, 3, 4)]
        for client in clients:
            client.start()
        # All but the last of those that name the same URL are answered while the queue is still full.
        wait_for(lambda: len(answered) >= 4, "the answers of what was overtaken")
        hold.set()
        for client in clients:
            client.join()
        assert answered == [202] * 6


def test_bad_specification_does_not_end_a_good_registration():
    with gateway(lambda connection, request: connection.answer()) as (running, _), Worker() as late:
        late.healthy = False
        worker_id = add(running, late)
        wait_for(lambda: late.probes, "the first look")
        again = call(running, "POST", "/workers", {"url": late.url, "overload": {"waiting_requests": 0}})
        assert again[0] == 202 and again[2]["worker_id"] == worker_id
        late.healthy = True
        assert wait_registered(running, late.url)["id"] == worker_id


def test_listing_says_what_keeps_a_worker_out():
    def broken(connection, request):
        connection.answer(b"", "500 Internal Server Error")
    with Worker() as over, Worker(broken) as failing:
        over.report(waiting=50)
        failing.report()
        with Gateway([over, failing], extra="[load_monitor]\ninterval_secs = 1\n[circuit_breaker]\nfailure_threshold = 1\n"
                                            "[retry]\ndisabled = true\n") as running:
            def shown(url):
                return next(item for item in workers(running)["workers"] if item["url"] == url)
            wait_for(lambda: shown(over.url).get("overloaded"), "the verdict")
            running.chat()
            assert shown(failing.url)["circuit_breaker"] == "open"
            over.report()
            wait_for(lambda: "overloaded" not in shown(over.url), "the verdict to go")
            assert shown(over.url)["status"] == "ready" and "circuit_breaker" not in shown(over.url)


def test_thresholds_of_zero_count_as_one():
    with gateway(lambda connection, request: connection.answer(),
                 extra="[health_check]\ncheck_interval_secs = 1\n") as (running, worker):
        worker_id = workers(running)["workers"][0]["id"]
        call(running, "PATCH", f"/workers/{worker_id}", {"health": {"failure_threshold": 0, "success_threshold": 0}})
        seen = len(worker.probes)
        wait_for(lambda: len(worker.probes) >= seen + 2, "probes")
        assert call(running, "GET", f"/workers/{worker_id}")[2]["status"] == "ready"


def test_names_of_a_worker_cannot_forge_log_lines_or_go_on_for_ever():
    models = tuple(f"m{index}" for index in range(3000))
    with Worker(models=("a\n2026-01-01 error forged\x1b[31m",) + models) as worker, Gateway([worker]) as running:
        assert len(workers(running)["workers"][0]["models"]) == 1024
        text = running.log_path.read_bytes()
        assert b"\n2026-01-01 error forged" not in text and b"\x1b[31m" not in text
        assert rb"a\x0a2026-01-01 error forged\x1b[31m" in text and b"and 1016 more" in text


def test_delay_before_the_first_look_does_not_use_up_the_time_to_come_up():
    with Worker() as worker, Gateway([worker], server="worker_startup_delay_secs = 2\nworker_startup_timeout_secs = 2",
                                     ready=False) as running:
        running.wait_listening()
        # The first look fails, the second is still within the time.
        worker.healthy = False
        wait_for(lambda: worker.probes, "the first look")
        worker.healthy = True
        wait_registered(running, worker.url)
