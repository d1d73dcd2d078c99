"""Engines that die, freeze and come back, as real processes: what each part of the gateway makes of it, step by step."""
import pytest

from engines import Engine, routed_to, straight, stream_to_each
from observe import Events, becomes, shown
from support import SLOW, Gateway, wait_for

CHECKS = "[health_check]\ncheck_interval_secs = 1\ntimeout_secs = {timeout}\nfailure_threshold = {fail}\nsuccess_threshold = 2\n"
BREAKER = "[circuit_breaker]\nfailure_threshold = 2\nsuccess_threshold = 2\ntimeout_duration_secs = {open}\n"
POLLS = "[load_monitor]\ninterval_secs = 1\n"


def assert_out(running, url):
    """All that is said of a worker that is not ready."""
    becomes(running, "smg_worker_health", 0, worker=url)
    becomes(running, "smg_load_report_age_seconds", -1, worker=url)
    for gauge in ("running_requests", "waiting_requests", "token_usage", "gen_throughput", "cache_hit_rate"):
        becomes(running, f"smg_engine_{gauge}", -1, worker=url)
    wait_for(lambda: "engine_load" not in shown(running, url), "the report to be dropped")
    assert shown(running, url)["is_healthy"] is False
    # An HTTP worker that fails is for health checks and the breaker alone.
    assert running.metric("smg_worker_stalled", worker=url) == 0
    assert running.metric("smg_worker_stall_transitions_total", worker=url) == 0


def assert_back(running, events, url):
    events.wait("worker_status", url, before="not_ready", after="ready")
    becomes(running, "smg_worker_health", 1, worker=url)
    seen = shown(running, url)
    assert (seen["status"], seen["is_healthy"]) == ("ready", True)
    wait_for(lambda: "engine_load" in shown(running, url), "a load report")
    wait_for(lambda: running.metric("smg_load_report_age_seconds", worker=url) >= 0, "the report's age")
    assert running.metric("smg_engine_waiting_requests", worker=url) == 0


def assert_untouched(running, *engines):
    for engine in engines:
        assert running.metric("smg_worker_health", worker=engine.url) == 1
        assert running.metric("smg_worker_cb_state", worker=engine.url) == 0
        assert running.metric("smg_worker_cb_outcomes_total", worker=engine.url, outcome="failure") == 0


def test_a_killed_engine_is_left_at_once_and_comes_back_on_its_port():
    with Engine() as victim, Engine() as two, Engine() as three:
        expected = straight(two, 250)
        with Gateway([victim, two, three], loops=1, extra=POLLS + BREAKER.format(open=1) + CHECKS.format(timeout=1 * SLOW, fail=3)) as running:
            events = Events(running, "worker_status,no_report,load_report")
            lost, *others = stream_to_each(running.port, [victim, two, three], 250)
            wait_for(lambda: "engine_load" in shown(running, victim.url), "a load report")
            victim.kill()

            assert lost.result() in ("ConnectionResetError", "IncompleteRead")
            assert 0 < len(lost.data) < len(expected) and b"[DONE]" not in lost.data
            becomes(running, "smg_router_responses_cut_total", 1)
            becomes(running, "smg_worker_requests_active", 0, worker=victim.url)
            assert routed_to(running) == {two.url, three.url}
            assert running.metric("smg_worker_retries_total") >= 2
            # Requests find out before the health checker does.
            assert not events.of("worker_status", victim.url)
            assert running.metric("smg_worker_cb_transitions_total", worker=victim.url, **{"from": "closed", "to": "open"}) == 1
            assert running.metric("smg_worker_cb_outcomes_total", worker=victim.url, outcome="failure") >= 2

            events.wait("no_report", victim.url, cause="connection")
            assert running.metric("smg_load_reports_total", result="connection") >= 1
            events.wait("worker_status", victim.url, before="ready", after="not_ready")
            assert_out(running, victim.url)
            assert shown(running, victim.url)["status"] == "not_ready"
            assert running.metric("smg_worker_health_checks_total", result="failure") >= 3
            # Only ready workers are polled.
            missed, heard = (len(events.of(*what)) for what in (("no_report", victim.url), ("load_report", two.url)))
            wait_for(lambda: len(events.of("load_report", two.url)) >= heard + 2, "two more polls of the others")
            assert len(events.of("no_report", victim.url)) == missed

            for stream in others:
                assert stream.result() == "complete" and stream.text() == expected
            assert_untouched(running, two, three)

            victim.restart()
            assert_back(running, events, victim.url)
            wait_for(lambda: victim.url in routed_to(running, 3), "the engine to be used again")
            wait_for(lambda: routed_to(running, 3) and running.metric("smg_worker_cb_state", worker=victim.url) == 0, "the breaker to close")
            assert running.metric("smg_worker_cb_transitions_total", worker=victim.url, **{"from": "half_open", "to": "closed"}) == 1
            assert running.metric("smg_worker_cb_consecutive_failures", worker=victim.url) == 0
            assert victim.state()["completed"] >= 2
            assert running.metric("smg_router_responses_cut_total") == 1


def test_a_frozen_engine_is_found_by_polls_and_probes_and_goes_on_where_it_was():
    """Its connections stand. A poll of /metrics ends after 5 s, sooner than 5 failed probes."""
    with Engine("--no-loads") as victim, Engine() as two:
        expected = straight(two, 100)
        with Gateway([victim, two], loops=1, extra=POLLS + BREAKER.format(open=1) + CHECKS.format(timeout=1 * SLOW, fail=5)) as running:
            events = Events(running, "worker_status,no_report")
            frozen, other = stream_to_each(running.port, [victim, two], 100)
            wait_for(lambda: "engine_load" in shown(running, victim.url), "a load report")
            victim.freeze()

            assert other.result() == "complete" and other.text() == expected
            events.wait("no_report", victim.url, cause="timeout")
            assert running.metric("smg_load_reports_total", source="prometheus_scrape", result="timeout") >= 1
            assert running.metric("smg_load_report_age_seconds", worker=victim.url) > 4
            wait_for(lambda: "engine_load" not in shown(running, victim.url), "the report to be dropped")
            assert not events.of("worker_status", victim.url)
            events.wait("worker_status", victim.url, before="ready", after="not_ready")
            assert_out(running, victim.url)
            assert routed_to(running) == {two.url}
            # Failed probes and polls are nothing to the breaker, and a stream is not cut for them.
            assert running.metric("smg_worker_cb_outcomes_total", worker=victim.url, outcome="failure") == 0
            assert running.metric("smg_worker_cb_state", worker=victim.url) == 0
            assert running.metric("smg_worker_requests_active", worker=victim.url) == 1
            assert frozen.end is None and b"[DONE]" not in frozen.data

            victim.thaw()
            assert frozen.result() == "complete" and frozen.text() == expected
            assert_back(running, events, victim.url)
            assert routed_to(running) == {victim.url, two.url}
            assert running.metric("smg_router_responses_cut_total") == 0
            assert_untouched(running, victim, two)


def test_a_frozen_engine_trips_its_breaker_on_requests_that_time_out():
    """No health check helps here: the first of them passes, the next comes too late."""
    extra = BREAKER.format(open=3 * SLOW) + "[health_check]\ncheck_interval_secs = 600\n[load_monitor]\ninterval_secs = 600\n"
    with Engine("--fast") as victim, Engine("--fast") as two:
        with Gateway([victim, two], loops=1, server=f"request_timeout_secs = {1 * SLOW}", extra=extra) as running:
            assert routed_to(running, 4) == {victim.url, two.url}
            victim.freeze()

            def moved(before, after):
                return running.metric("smg_worker_cb_transitions_total", worker=victim.url, **{"from": before, "to": after})

            # Tried for a second each, then answered by the other.
            assert routed_to(running, 4) == {two.url}
            assert (moved("closed", "open"), running.metric("smg_worker_retries_total")) == (1, 2)
            assert running.metric("smg_router_upstream_responses_total", status_code="504", error_code="call_upstream_timeout") == 2
            assert running.metric("smg_worker_cb_outcomes_total", worker=victim.url, outcome="failure") == 2
            becomes(running, "smg_worker_cb_state", 2, worker=victim.url)
            assert routed_to(running, 2) == {two.url}
            assert (moved("open", "half_open"), moved("half_open", "open")) == (1, 1)
            assert running.metric("smg_worker_health", worker=victim.url) == 1

            victim.thaw()
            wait_for(lambda: victim.url in routed_to(running, 2), "the engine to be used again")
            wait_for(lambda: routed_to(running, 2) and running.metric("smg_worker_cb_state", worker=victim.url) == 0, "the breaker to close")
            assert (moved("half_open", "closed"), moved("closed", "open")) == (1, 1)
            assert running.metric("smg_router_request_errors_total") == 0


@pytest.mark.parametrize("removes", [False, True], ids=["stays failed", "is removed"])
def test_an_engine_that_stays_away_has_to_be_registered_again(removes):
    extra = f"[health_check]\ncheck_interval_secs = 1\nfailure_threshold = 1\nremove_unhealthy_workers = {str(removes).lower()}\n"
    with Engine("--fast") as victim, Engine("--fast") as two:
        with Gateway([victim, two], extra=extra) as running:
            events = Events(running, "worker_status,worker_removed")
            wait_for(lambda: "engine_load" in shown(running, victim.url), "a load report")
            victim.kill()
            events.wait("worker_status", victim.url, before="not_ready", after="failed")
            if removes:
                events.wait("worker_removed", victim.url)
                wait_for(lambda: shown(running, victim.url) is None, "the worker to leave")
                for gauge in ("smg_worker_health", "smg_worker_cb_state", "smg_load_report_age_seconds"):
                    becomes(running, gauge, -1, worker=victim.url)
            else:
                assert shown(running, victim.url)["status"] == "failed"
            assert routed_to(running) == {two.url}
            victim.restart()
            # Nobody probes it any more: while the other is probed three times, it hears nothing.
            probes = running.metric("smg_worker_health_checks_total")
            wait_for(lambda: running.metric("smg_worker_health_checks_total") >= probes + 3, "more probes of the other")
            assert victim.state()["connections"] == 0
            assert routed_to(running) == {two.url}
            if not removes:
                worker_id = shown(running, victim.url)["id"]
                assert running.request("DELETE", f"/workers/{worker_id}")[0] == 202
                wait_for(lambda: shown(running, victim.url) is None, "the worker to leave")
            assert running.post("/workers", {"url": victim.url})[0] == 202
            wait_for(lambda: (shown(running, victim.url) or {}).get("is_healthy"), "the worker to be ready")
            assert routed_to(running) == {victim.url, two.url}
