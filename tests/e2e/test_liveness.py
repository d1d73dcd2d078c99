"""Liveness: what a transport notes about its engines, what takes one out of routing, what brings it back, and what
operators see of it. The engines are puppets, so nothing but what a test says happens to them."""
import json
import time

import pytest

from puppets import Events, Stream, stage, streams
from support import SLOW, wait_for

STALL = 1 if SLOW == 1 else 3
WEDGE = 2 if SLOW == 1 else 6
SILENT = "silent since a transport failure"
PILE = "in-flight requests pile up without progress"
ENGINE = "the engine reports no output for its in-flight requests"


def liveness(**seconds):
    """A configuration in which only the bounds that a test names can be met."""
    bounds = {"stall_secs": 3600, "wedge_secs": 3600, "stale_secs": 0, **seconds}
    return "[liveness]\n" + "".join(f"{key} = {value}\n" for key, value in bounds.items())


def routed_to(running):
    status, headers, _ = running.chat()
    assert status == 200
    return headers["x-smg-routed-worker-id"]


def worker_json(running, worker):
    return next(item for item in json.loads(running.get("/workers")[2])["workers"] if item["url"] == worker.url)


def operators_see(running, worker, reason):
    """`reason` None: no veto."""
    shown = worker_json(running, worker)
    assert (shown["status"], shown["is_healthy"], shown.get("stalled")) == ("ready", True, reason)
    assert running.metric("smg_worker_health", worker=worker.url) == 1
    for name in ("unreachable", "wedged"):
        assert running.metric("smg_worker_stalled", worker=worker.url, reason=name) == (name == reason), name


def transitions(running, worker):
    return {reason: running.metric("smg_worker_stall_transitions_total", worker=worker.url, reason=reason)
            for reason in ("unreachable", "wedged")}


def records_read(running, count):
    wait_for(lambda: running.metric("smg_load_reports_total", source="transport.puppet", result="ok") == count, f"{count} records")


def wedge(events, worker):
    """By four streams that nobody hears of. Leaves them running."""
    worker.tell("tracked_load 4")
    events.expect(worker, "none", "wedged", PILE)


def test_a_failed_channel_and_silence_make_a_worker_unreachable_until_it_is_heard_of():
    with stage(2, liveness(stall_secs=STALL)) as (running, events, (one, two)):
        begun = time.monotonic()
        one.tell("contact", "connection_failed kv-events")
        operators_see(running, one, None)
        events.expect(one, "none", "unreachable", SILENT)
        assert time.monotonic() - begun > 0.9 * STALL
        operators_see(running, one, "unreachable")
        operators_see(running, two, None)
        assert {routed_to(running) for _ in range(6)} == {two.url}
        one.tell("contact")
        operators_see(running, one, None)
        assert {routed_to(running) for _ in range(6)} == {one.url, two.url}
        events.expect(one, "unreachable", "none", "contact")
        assert transitions(running, one) == {"unreachable": 1, "wedged": 0}
        assert transitions(running, two) == {"unreachable": 0, "wedged": 0}
        assert running.metric("smg_worker_liveness_fallback_total") == 0


def test_contact_within_the_bound_forgives_the_failure():
    with stage(2, liveness(stall_secs=STALL)) as (running, events, (one, two)):
        # What the other goes through comes later, so the first would have been vetoed by then.
        one.tell("connection_failed kv-events", "contact")
        two.tell("contact", "connection_failed kv-events")
        events.expect(two, "none", "unreachable", SILENT)
        operators_see(running, one, None)
        # It has been silent for that long itself: now a failure counts at once, and names its channel.
        one.tell("connection_failed load-poll")
        operators_see(running, one, "unreachable")
        events.expect(one, "none", "unreachable", "load-poll")
        one.tell("progress 1")
        events.expect(one, "unreachable", "none", "progress")


def test_with_no_silence_asked_for_a_failure_is_enough_and_a_probe_brings_back():
    extra = "[health_check]\ncheck_interval_secs = 1\n" + liveness(stall_secs=0)
    with stage(2, extra) as (running, events, (one, _)):
        one.tell("connection_failed kv-events")
        events.expect(one, "none", "unreachable", "kv-events")
        events.expect(one, "unreachable", "none", "probe")
        operators_see(running, one, None)
        assert transitions(running, one) == {"unreachable": 1, "wedged": 0}


def test_re_admission_closes_the_breaker():
    extra = "[circuit_breaker]\nfailure_threshold = 2\n[retry]\ndisabled = true\n" + liveness(stall_secs=0)
    with stage(2, extra) as (running, events, (one, two)):
        one.tell("broken on")
        while running.metric("smg_worker_cb_state", worker=one.url) != 1:
            running.chat()
        one.tell("broken off", "contact")
        assert running.metric("smg_worker_cb_state", worker=one.url) == 1, "contact alone closes nothing"
        one.tell("connection_failed kv-events", "contact")
        events.expect(one, "none", "unreachable", "kv-events")
        events.expect(one, "unreachable", "none", "contact")
        assert running.metric("smg_worker_cb_state", worker=one.url) == 0
        assert running.metric("smg_worker_cb_consecutive_failures", worker=one.url) == 0
        assert {routed_to(running) for _ in range(6)} == {one.url, two.url}


def test_one_that_pushes_records_is_unreachable_when_they_stop():
    with stage(2, liveness(stale_secs=STALL)) as (running, events, (one, two)):
        begun = time.monotonic()
        one.tell("report")
        two.tell("contact")
        events.expect(one, "none", "unreachable", "load records stopped")
        assert time.monotonic() - begun > 0.9 * STALL
        operators_see(running, one, "unreachable")
        operators_see(running, two, None)  # it never pushed
        one.tell("report")
        events.expect(one, "unreachable", "none", "contact")


def test_requests_that_pile_up_without_progress_wedge_a_worker():
    with stage(2, liveness(wedge_secs=WEDGE)) as (running, events, (one, two)), streams(running, 8) as opened:
        mine = [stream for stream in opened if stream.url == one.url]
        others = [stream for stream in opened if stream.url == two.url]
        assert len(mine) == len(others) == 4
        # A few quiet requests are no pile.
        for stream in others[1:]:
            stream.close()
        events.expect(one, "none", "wedged", PILE)
        operators_see(running, one, "wedged")
        operators_see(running, two, None)
        assert {routed_to(running) for _ in range(6)} == {two.url}
        # Answering polls is not working.
        one.tell("contact")
        operators_see(running, one, "wedged")
        # A veto ends no request, and what comes of one lifts it.
        one.tell("pour")
        assert [stream.token() for stream in mine] == ["token"] * 4
        events.expect(one, "wedged", "none", "progress")
        operators_see(running, one, None)
        assert {routed_to(running) for _ in range(6)} == {one.url, two.url}
        assert transitions(running, one) == {"unreachable": 0, "wedged": 1}
        one.tell("finish")
        assert all(stream.ended() for stream in mine)


def test_a_pile_that_clients_give_up_is_none():
    with stage(1, liveness(wedge_secs=WEDGE)) as (running, events, (one,)):
        with streams(running, 4):
            events.expect(one, "none", "wedged", PILE)
        events.expect(one, "wedged", "none", "drained")
        operators_see(running, one, None)


def test_a_wedged_worker_whose_channel_fails_is_unreachable():
    with stage(1, liveness(wedge_secs=WEDGE, stall_secs=0)) as (running, events, (one,)):
        wedge(events, one)
        one.tell("connection_failed kv-events")
        events.expect(one, "wedged", "unreachable", "kv-events")
        operators_see(running, one, "unreachable")
        one.tell("contact")
        events.expect(one, "unreachable", "none", "contact")
        assert transitions(running, one) == {"unreachable": 1, "wedged": 1}


def test_a_queue_without_progress_wedges_a_worker():
    with stage(1, liveness(wedge_secs=WEDGE)) as (running, events, (one,)):
        begun = time.monotonic()
        one.tell("tracked_load 1", "report waiting=3")
        records_read(running, 1)
        operators_see(running, one, None)

        def wedged():
            one.tell("report waiting=3")
            return worker_json(running, one).get("stalled") == "wedged"
        wait_for(wedged, "the worker to be wedged")
        assert time.monotonic() - begun > 0.9 * WEDGE
        events.expect(one, "none", "wedged", "no progress with a waiting queue")


def test_an_engine_that_says_it_is_silent_is_wedged_until_it_says_otherwise():
    """Whatever this gateway has on it: here nothing at first."""
    with stage(2, liveness(wedge_secs=WEDGE)) as (running, events, (one, two)):
        one.tell(f"report steps=1 silence_ms={WEDGE * 1000 - 1}")
        records_read(running, 1)
        operators_see(running, one, None)
        one.tell(f"report steps=1 silence_ms={WEDGE * 1000}")
        events.expect(one, "none", "wedged", ENGINE)
        operators_see(running, one, "wedged")
        assert {routed_to(running) for _ in range(6)} == {two.url}
        # Neither contact nor a fresh clock of our own speaks for the engine.
        one.tell("contact", "tracked_load 1", f"report steps=1 silence_ms={WEDGE * 1000}")
        records_read(running, 3)
        operators_see(running, one, "wedged")
        one.tell("report steps=1 silence_ms=10")
        events.expect(one, "wedged", "none", "engine output resumed")
        operators_see(running, one, None)


def test_where_only_tokens_are_seen_silence_counts_against_the_measured_rate():
    silent = "report silence_ms=119999 pending=100000000"
    with stage(1, liveness(wedge_secs=WEDGE)) as (running, events, (one,)):
        one.tell("report silence_ms=3600000 pending=0")
        records_read(running, 1)
        operators_see(running, one, None)  # the rate is not known

        def measured():
            one.tell("prefill_pending 100", "first_response 100", "report silence_ms=3600000 pending=0")
            return worker_json(running, one).get("stalled") == "wedged"
        wait_for(measured, "a rate and a verdict")
        events.expect(one, "none", "wedged", ENGINE)
        # A prefill of that size may take 120 s, and no longer.
        one.tell(silent)
        events.expect(one, "wedged", "none", "engine output resumed")
        one.tell(silent.replace("119999", "120000"))
        events.expect(one, "none", "wedged", ENGINE)


def test_own_prompts_that_wait_for_their_first_answer_stretch_the_bound():
    with stage(2, liveness(wedge_secs=WEDGE)) as (running, events, (one, two)):
        # At the 10,000 tokens/s that are assumed, worth more than any test lasts.
        one.tell("prefill_pending 1000000", "tracked_load 4")
        wedge(events, two)
        operators_see(running, one, None)
        one.tell("prefill_pending -1000000")
        events.expect(one, "none", "wedged", PILE)


def test_a_bound_of_0_means_never_wedged():
    with stage(1, liveness(wedge_secs=0, stall_secs=STALL)) as (running, events, (one,)):
        one.tell("tracked_load 8", "report waiting=5 steps=1 silence_ms=3600000")
        records_read(running, 1)  # it is contact, and would forgive the failure
        one.tell("connection_failed kv-events")
        # Checks have passed by then, and the first thing that happened is this:
        events.expect(one, "none", "unreachable", SILENT)
        assert transitions(running, one) == {"unreachable": 1, "wedged": 0}


@pytest.mark.parametrize("shed", [False, True])
def test_with_all_vetoed_requests_are_steered_to_the_least_loaded(shed):
    extra = f"[overload]\nshed = {str(shed).lower()}\n" + liveness(stall_secs=0, wedge_secs=WEDGE)
    with stage(2, extra) as (running, events, (one, two)), streams(running, 1) as (held,):
        busy, free = (one, two) if held.url == one.url else (two, one)
        one.tell("connection_failed kv-events")
        events.expect(one, "none", "unreachable", "kv-events")
        wedge(events, two)
        steered = Stream(running)
        assert steered.url == free.url
        assert running.metric("smg_worker_liveness_fallback_total", stage="selection") == 1
        assert running.metric("smg_worker_overload_fallback_total") == 0
        assert running.metric("smg_worker_overload_shed_total") == 0
        # What comes of it is progress.
        free.tell("pour")
        assert steered.token() == "token"
        operators_see(running, free, None)
        assert {routed_to(running) for _ in range(4)} == {free.url}
        assert running.metric("smg_worker_liveness_fallback_total", stage="selection") == 1
        steered.close()
        assert worker_json(running, busy)["stalled"] in ("unreachable", "wedged")


def changed(running, worker, method, **fields):
    """Changes the worker's description, and waits for it to show."""
    path = f"/workers/{worker_json(running, worker)['id']}"
    status, _, body = running.request(method, path, json.dumps(fields), {"Content-Type": "application/json"})
    assert status == 202, body
    wait_for(lambda: worker_json(running, worker)["priority"] == fields["priority"], "the change")


def test_a_transport_is_heard_after_the_description_has_changed():
    with stage(1, liveness(stall_secs=0, wedge_secs=WEDGE)) as (running, events, (one,)):
        one.tell("tracked_load 4")
        changed(running, one, "PATCH", priority=7)
        one.tell("tracked_load -4", "connection_failed kv-events", "contact")
        events.expect(one, "none", "unreachable", "kv-events")
        events.expect(one, "unreachable", "none", "contact")
        one.tell("report steps=1 silence_ms=3600000")
        events.expect(one, "none", "wedged", ENGINE)
        one.tell("report")
        events.expect(one, "wedged", "none", "engine output resumed")


def test_streams_that_outlast_a_replacement_count_until_they_end():
    with stage(2, liveness(wedge_secs=WEDGE)) as (running, events, (one, two)), streams(running, 8) as opened:
        mine = [stream for stream in opened if stream.url == one.url]
        changed(running, one, "PUT", url=one.url, priority=9)
        one.tell("pour", "finish")
        two.tell("finish")
        assert [stream.token() for stream in mine] == ["token"] * 4
        assert all(stream.ended() for stream in opened)
        # Had their end been missed, the first to be wedged would be the other.
        wedge(events, two)
        operators_see(running, one, None)


def test_a_record_is_contact_whatever_the_health_of_the_worker():
    extra = "[health_check]\ncheck_interval_secs = 1\nfailure_threshold = 1\nsuccess_threshold = 1\n" + liveness(stall_secs=0)
    with stage(2, extra) as (running, events, (one, _)):
        one.tell("unwell on")
        wait_for(lambda: worker_json(running, one)["status"] != "ready", "the worker to be not ready")
        one.tell("connection_failed kv-events", "report")
        events.expect(one, "none", "unreachable", "kv-events")
        events.expect(one, "unreachable", "none", "contact")
        # Its load is nobody's business meanwhile, and being heard of is not being well.
        shown = worker_json(running, one)
        assert shown["status"] in ("not_ready", "failed") and "engine_load" not in shown


def test_who_pushes_records_is_not_polled_and_its_verdict_holds():
    with stage(2, "[load_monitor]\ninterval_secs = 2\n" + liveness()) as (running, _, (one, two)):
        one.tell("report waiting=20")
        records_read(running, 1)
        seen = Events(running, "verdict_changed,no_report")
        asked = running.metric("smg_load_reports_total", result="unsupported")

        def twice():
            one.tell("report waiting=20")
            return running.metric("smg_load_reports_total", result="unsupported") >= asked + 2
        wait_for(twice, "two polls of the other")
        one.tell("report")
        told = [seen.next()]
        while told[-1]["type"] != "verdict_changed":
            told.append(seen.next())
        assert {event["worker"] for event in told[:-1]} == {two.url}
        assert (told[-1]["worker"], told[-1]["overloaded"]) == (one.url, False)
        seen.close()
