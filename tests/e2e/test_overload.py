"""Overload protection: who is out because of its load, what happens when everybody is, and what ends it."""
import contextlib
import json
import threading

import pytest

from support import DEADLINE, Gateway, Worker, chat, wait_for

FAST = "[load_monitor]\ninterval_secs = 1\n"


def answer(connection, request):
    connection.answer(b"{}")


@contextlib.contextmanager
def fleet(count, extra="", **options):
    workers = [Worker(answer) for _ in range(count)]
    for worker in workers:
        worker.report()
    try:
        with Gateway(workers, extra=FAST + extra, **options) as running:
            yield running, workers
    finally:
        for worker in workers:
            worker.__exit__()


def overloaded(running, count):
    wait_for(lambda: running.metric("smg_workers_overloaded", model="m") == count, f"{count} overloaded workers")


def routed_to(running):
    status, headers, _ = running.chat()
    assert status == 200
    return headers["x-smg-routed-worker-id"]


def polled(worker):
    """Waits for a poll that begins from here on."""
    seen = len(worker.gets)
    wait_for(lambda: len(worker.gets) > seen + 1, "another poll")


def test_a_worker_is_out_from_the_report_that_crosses_its_ceiling_to_the_first_below():
    with fleet(2) as (running, (one, two)):
        one.report(waiting=7)
        polled(one)
        assert running.metric("smg_workers_overloaded", model="m") == 0
        one.report(waiting=8)
        overloaded(running, 1)
        assert {routed_to(running) for _ in range(6)} == {two.url}
        one.report(waiting=7)
        overloaded(running, 0)
        assert {routed_to(running) for _ in range(6)} == {one.url, two.url}


def test_the_usage_ceiling_is_inclusive():
    with fleet(2) as (running, (one, _)):
        one.report(usage=0.8)
        overloaded(running, 1)
        one.report(usage=0.79)
        overloaded(running, 0)


def test_with_all_but_one_over_everything_goes_to_that_one():
    with fleet(4) as (running, workers):
        for worker in workers[:3]:
            worker.report(waiting=20)
        overloaded(running, 3)
        assert {routed_to(running) for _ in range(12)} == {workers[3].url}
        assert running.metric("smg_worker_overload_fallback_total") == 0


def test_with_all_over_requests_are_steered_to_the_least_loaded():
    hold = threading.Event()

    def slow(connection, request):
        if request.json()["messages"][0]["content"] == "hold":
            hold.wait(DEADLINE)
        connection.answer(b"{}")

    with fleet(2) as (running, workers):
        for worker in workers:
            worker.script = slow
            worker.report(waiting=20)
        overloaded(running, 2)
        holder = threading.Thread(target=running.post, args=("/v1/chat/completions", chat(content="hold")))
        holder.start()
        busy = wait_for(lambda: [worker.url for worker in workers if worker.requests], "the held request")[0]
        free = next(worker.url for worker in workers if worker.url != busy)
        assert {routed_to(running) for _ in range(8)} == {free}
        hold.set()
        holder.join()
        assert running.metric("smg_worker_overload_fallback_total", stage="selection") == 9
        assert running.metric("smg_worker_overload_shed_total") == 0


def test_with_shedding_each_gets_the_documented_answer_at_once():
    with fleet(2, extra="[overload]\nshed = true\n") as (running, workers):
        for worker in workers:
            worker.report(waiting=20)
        overloaded(running, 2)
        status, headers, body = running.chat()
        assert running.metric("smg_worker_retries_total") == 0
        assert status == 503
        assert headers["content-type"] == "application/json"
        assert headers["retry-after"] == "1"
        assert headers["x-smg-error-code"] == "worker_overload_protection_shed"
        assert json.loads(body) == {"error": {
            "type": "server_error", "code": "worker_overload_protection_shed",
            "message": "All workers for model 'm' are overloaded", "param": None}}
        assert running.metric("smg_worker_overload_shed_total", stage="selection") == 1
        assert not any(worker.requests for worker in workers)
        workers[0].report()
        overloaded(running, 1)
        assert routed_to(running) == workers[0].url


def test_a_mixed_pool_is_neither_steered_nor_shed():
    with fleet(2, extra="[retry]\ndisabled = true\n[health_check]\ncheck_interval_secs = 1\nfailure_threshold = 1\n") as (
            running, (one, two)):
        one.report(waiting=20)
        overloaded(running, 1)
        two.close()
        wait_for(lambda: running.metric("smg_worker_health", worker=two.url) == 0, "the other to be not ready")
        status, headers, _ = running.chat()
        assert (status, headers["x-smg-error-code"]) == (503, "no_available_workers")
        assert "retry-after" not in headers


def hang(connection):
    connection.wait_closed(DEADLINE)


def test_gauges_are_read_where_there_is_no_load_document():
    with fleet(2) as (running, (one, _)):
        text = "# HELP x\nvllm:num_requests_waiting{engine=\"0\"} 20\nvllm:num_requests_running 3\n"
        one.pages["/v1/loads"] = None
        one.pages["/metrics"] = (text + "vllm:kv_cache_usage_perc 0.5\n").encode()
        overloaded(running, 1)
        assert running.metric("smg_engine_token_usage", worker=one.url) == 0.5
        assert running.metric("smg_engine_waiting_requests", worker=one.url) == 20


def test_a_hung_worker_delays_nobody_elses_verdict():
    with fleet(2) as (running, (one, two)):
        one.pages["/v1/loads"] = hang
        polled_before = len(two.gets)
        two.report(waiting=20)
        overloaded(running, 1)
        assert len(two.gets) > polled_before


@pytest.mark.parametrize("ranks", [[0], [2, 5]])
def test_the_gauges_of_every_rank_say_unknown_once_the_worker_is_gone(ranks):
    with fleet(2, extra="[health_check]\ndrain_settle_secs = 0\n") as (running, (one, _)):
        one.report()
        one.pages["/v1/loads"] = {"loads": [{"dp_rank": rank, "num_waiting_reqs": 3, "token_usage": 0.5} for rank in ranks]}
        gauges = ("smg_engine_waiting_requests", "smg_engine_token_usage", "smg_engine_gen_throughput")
        for rank in ranks:
            labels = {"worker": one.url, "dp_rank": str(rank)}
            wait_for(lambda: running.metric("smg_engine_waiting_requests", **labels) == 3, f"rank {rank}")
        worker = next(item for item in json.loads(running.get("/workers")[2])["workers"] if item["url"] == one.url)
        assert running.request("DELETE", f"/workers/{worker['id']}")[0] == 202
        for rank in ranks:
            for gauge in gauges:
                labels = {"worker": one.url, "dp_rank": str(rank)}
                wait_for(lambda: running.metric(gauge, **labels) == -1, f"{gauge} of rank {rank}")
        wait_for(lambda: running.metric("smg_load_report_age_seconds", worker=one.url) == -1, "the age")


def test_protection_off_means_no_veto_but_still_reports():
    with fleet(1, extra="[overload]\nprotection = false\n") as (running, (one,)):
        one.report(waiting=1000, usage=1.0)
        wait_for(lambda: running.metric("smg_engine_waiting_requests", worker=one.url) == 1000, "the report")
        assert running.metric("smg_workers_overloaded", model="m") == 0


def test_a_breaker_opens_after_failures_in_a_row_and_spares_the_worker():
    extra = "[circuit_breaker]\nfailure_threshold = 3\ntimeout_duration_secs = 1\nsuccess_threshold = 1\n[retry]\ndisabled = true\n"
    with fleet(2, extra=extra) as (running, (one, two)):
        one.script = lambda connection, request: connection.answer(b"", "500 Internal Server Error")
        statuses = [running.chat()[0] for _ in range(6)]
        assert statuses.count(500) == 3
        assert running.metric("smg_worker_cb_state", worker=one.url) == 1
        assert {routed_to(running) for _ in range(4)} == {two.url}
        one.script = answer
        wait_for(lambda: running.metric("smg_worker_cb_state", worker=one.url) == 2, "the breaker to half-open")
        assert {routed_to(running) for _ in range(4)} == {one.url, two.url}
        wait_for(lambda: running.metric("smg_worker_cb_state", worker=one.url) == 0, "the breaker to close")
