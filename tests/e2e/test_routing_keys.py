"""The sticky routing-key override: keys of bodies and headers, the cap, and what is not its business."""
import json

import pytest

from support import gateway, wait_for

ON = "[routing_key_override]\nenabled = true\n"
KEY = "x-smg-routing-key"


def chat(running, headers=None, **fields):
    status, response_headers, _ = running.post("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "hi"}],
                                                                        **fields}, headers)
    assert status == 200
    return response_headers["x-smg-routed-worker-id"]


def test_requests_with_one_key_stay_at_one_worker_whatever_the_policy():
    with gateway(None, None, None, extra=ON) as (running, *_):
        homes = {key: chat(running, {KEY: key}) for key in ("a", "b", "c")}
        for _ in range(4):
            for key, home in homes.items():
                assert chat(running, {KEY: key}) == home
        assert len({chat(running) for _ in range(6)}) == 3  # without a key, in turn
        assert running.metric("smg_routing_key_source_total", source="header") == 15
        assert running.metric("smg_manual_policy_branch_total", branch="vacant") == 3
        assert running.metric("smg_manual_policy_branch_total", branch="occupied_hit") == 12
        assert running.metric("smg_manual_policy_cache_entries") == 3
        assert running.metric("smg_worker_selection_total", policy="round_robin") == 21


def test_without_the_override_round_robin_does_not_care():
    with gateway(None, None, None) as (running, *_):
        assert len({chat(running, {KEY: "a"}, rid="b") for _ in range(6)}) == 3


def test_the_rid_of_the_body_goes_before_a_header_and_turns_of_it_are_one_key():
    with gateway(None, None, None, extra=ON) as (running, *workers):
        home = chat(running, {KEY: "other"}, rid="job_t1")
        for rid in ("job_t2", "job_t2_r1", ["job_t3", "else"], "job"):
            assert chat(running, {KEY: "yet another"}, rid=rid) == home
        assert running.metric("smg_routing_key_source_total", source="rid") == 5
        assert running.metric("smg_routing_key_source_total", source="header") == 0
        sent = [json.loads(request.body) for worker in workers for request in worker.requests]
        assert {json.dumps(body["rid"]) for body in sent} >= {'"job_t1"', '"job_t2_r1"'}  # engines see it as it came


@pytest.mark.parametrize("rid", [None, 7, "", "x" * 129, [], [1]])
def test_a_rid_that_is_no_key_leaves_it_to_the_header(rid):
    with gateway(None, None, None, extra=ON) as (running, *_):
        assert len({chat(running, {KEY: "k"}, rid=rid) for _ in range(6)}) == 1
        assert running.metric("smg_routing_key_source_total", source="header") == 6


def test_headers_are_looked_at_in_order_and_bad_values_passed_over():
    extra = ON + 'headers = ["x-session", "x-user"]\n'
    with gateway(None, None, None, extra=extra) as (running, *workers):
        home = chat(running, {"X-Session": "s"})
        assert {chat(running, {"X-User": "u", "X-Session": "s"}) for _ in range(4)} == {home}
        user = chat(running, {"X-User": "u"})
        assert {chat(running, {"X-User": "u", "X-Session": "x" * 129}) for _ in range(4)} == {user}
        assert len({chat(running, {KEY: "k"}) for _ in range(6)}) == 3  # not in the list
        for worker in workers:
            assert all(request.header("x-session") is None for request in worker.requests)  # routing only


def test_a_burst_with_one_key_does_not_pile_onto_one_worker():
    import threading

    release = threading.Event()

    def held(connection, _):
        release.wait(30)
        connection.answer()

    with gateway(held, held, held, extra=ON) as (running, *workers):
        threads = [threading.Thread(target=chat, args=(running, {KEY: "k"})) for _ in range(6)]
        try:
            for started, thread in enumerate(threads, 1):
                thread.start()
                wait_for(lambda: sum(len(worker.requests) for worker in workers) == started, "the request at a worker")
            assert sorted(len(worker.requests) for worker in workers) == [2, 2, 2]
            assert running.metric("smg_manual_policy_branch_total", branch="cap_respill") > 0
            assert running.metric("smg_worker_routing_keys_active") == 3
        finally:
            release.set()
            for thread in threads:
                thread.join()
        wait_for(lambda: running.metric("smg_worker_routing_keys_active") == 0, "the key to be let go")


def test_the_flags_of_the_reference_gateway_switch_it_on():
    args = ("--sticky-sessions", "--routing-key-headers", "x-session", "x-user", "--assignment-mode", "min_load", "--max-idle-secs", "60",
            "--eviction-interval", "1")
    with gateway(None, None, None, args=args) as (running, *_):
        assert len({chat(running, {"x-user": "u"}) for _ in range(6)}) == 1
