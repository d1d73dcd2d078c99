"""No fresh report is no opinion: whatever ends a poll, a worker that was over its ceiling is back in routing."""
import pytest

from engines import Engine, routed_to
from observe import Events, becomes, shown
from support import DEADLINE, Gateway, Worker, wait_for

POLLS = "[load_monitor]\ninterval_secs = {}\n"
LOADS, METRICS = "/v1/loads", "/metrics"
OVER = {LOADS: {"loads": [{"dp_rank": 0, "num_waiting_reqs": 20}]},
        METRICS: b"vllm:num_requests_waiting 20\nvllm:num_requests_running 3\nvllm:kv_cache_usage_perc 0.5\n"}


def status(line):
    return lambda connection: connection.answer(b"", line)


def hang(connection):
    connection.wait_closed(DEADLINE)


def reset(connection):
    connection.reset()


# Where the worker reports, what it answers there from now on, and what is said of it: source and cause.
ENDS = {
    "loads time out": (LOADS, hang, "http_loads", "timeout"),
    "loads answer 500": (LOADS, status("500 Internal Server Error"), "http_loads", "error"),
    "loads answer 401": (LOADS, status("401 Unauthorized"), "http_loads", "error"),
    "loads are empty": (LOADS, {"loads": []}, "http_loads", "empty"),
    "loads are gone": (LOADS, None, "http_loads", "unsupported"),
    "loads are no JSON": (LOADS, b"<html>", "http_loads", "malformed"),
    "loads have wrong types": (LOADS, {"loads": [{"num_waiting_reqs": "20"}]}, "http_loads", "malformed"),
    "loads are reset": (LOADS, reset, "http_loads", "connection"),
    "metrics time out": (METRICS, hang, "prometheus_scrape", "timeout"),
    "metrics answer 503": (METRICS, status("503 Service Unavailable"), "prometheus_scrape", "error"),
    "metrics are gone": (METRICS, None, "http_loads", "unsupported"),
    "metrics are reset": (METRICS, reset, "prometheus_scrape", "connection"),
    "a gauge was renamed": (METRICS, OVER[METRICS].replace(b"cache_usage", b"cache_used"), "prometheus_scrape", "gauge_missing"),
}


@pytest.fixture
def workers():
    one, two = Worker(), Worker()
    two.report()
    with one, two:
        yield one, two


def over(running, count):
    becomes(running, "smg_workers_overloaded", count, model="m")


@pytest.mark.parametrize("end", ENDS)
def test_overload_4_3_a_poll_without_a_report_readmits(workers, end):
    page, answer, source, cause = ENDS[end]
    one, two = workers
    one.pages[page] = OVER[page]
    with Gateway(workers, extra=POLLS.format(1)) as running:
        over(running, 1)
        assert routed_to(running) == {two.url}
        assert running.metric("smg_load_reports_total", result=cause) == 0
        events = Events(running, "no_report,verdict_changed")

        one.pages[page] = answer
        over(running, 0)
        assert routed_to(running) == {one.url, two.url}
        told = events.wait("no_report", one.url)
        assert (told["cause"], told["subject"]) == (cause, source), told
        events.wait("verdict_changed", one.url, overloaded=False)
        assert running.metric("smg_load_reports_total", source=source, result=cause) >= 1
        wait_for(lambda: "engine_load" not in shown(running, one.url), "the report to be dropped")
        assert running.metric("smg_worker_health", worker=one.url) == 1

        one.pages[page] = OVER[page]
        over(running, 1)
        assert routed_to(running) == {two.url}
        assert {event["cause"] for event in events.of("no_report", one.url)} == {cause}
        assert not events.of("no_report", two.url)


def test_overload_4_3_an_engine_that_refuses_connections_is_tried_again():
    with Engine("--fast") as one, Engine("--fast") as two:
        one.order("/config", report={"num_waiting_reqs": 20})
        with Gateway([one, two], extra=POLLS.format(1) + "[health_check]\ncheck_interval_secs = 600\n") as running:
            over(running, 1)
            assert routed_to(running) == {two.url}
            events = Events(running, "no_report")
            one.order("/fault", kind="refuse", drop=True)
            over(running, 0)
            events.wait("no_report", one.url, cause="connection")
            assert running.metric("smg_load_reports_total", result="connection") >= 1
            # It is chosen, refuses, and the other answers.
            assert routed_to(running) == {two.url}
            assert running.metric("smg_worker_cb_outcomes_total", worker=one.url, outcome="failure") >= 1
            one.order("/config", report=None)
            one.order("/fault", kind="none")
            wait_for(lambda: one.url in routed_to(running), "the engine to be used again")


@pytest.mark.parametrize("leave", ["unhealthy", "gone"])
def test_overload_4_4_who_leaves_ready_comes_back_without_an_opinion(workers, leave):
    """Polls are far apart here: what clears the verdict is that the worker leaves."""
    one, two = workers
    one.report(waiting=20)
    checks = "[health_check]\ncheck_interval_secs = 1\nfailure_threshold = 3\nsuccess_threshold = 1\n"
    with Gateway(workers, extra=POLLS.format(600) + checks) as running:
        over(running, 1)
        events = Events(running, "worker_status,no_report,verdict_changed")
        if leave == "gone":
            one.close()
        else:
            one.healthy = False
        events.wait("worker_status", one.url, before="ready", after="not_ready")
        over(running, 0)
        events.wait("verdict_changed", one.url, overloaded=False)
        wait_for(lambda: "engine_load" not in shown(running, one.url), "the report to be dropped")
        becomes(running, "smg_engine_waiting_requests", -1, worker=one.url)
        assert routed_to(running) == {two.url}
        if leave == "unhealthy":
            one.healthy = True
            events.wait("worker_status", one.url, before="not_ready", after="ready")
            assert routed_to(running) == {one.url, two.url}
        assert running.metric("smg_workers_overloaded", model="m") == 0
        assert not events.of("no_report", one.url)
