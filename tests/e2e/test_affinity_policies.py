"""Policies that keep requests together - by prompt, key, header - as a client sees them."""
import json
import subprocess
import threading

import pytest

from support import ENV, PLUGINS, SMG, Gateway, Worker, gateway, toml, wait_for

KEY = "x-smg-routing-key"


def ask(running, content, headers=None, expect=200, **fields):
    status, response_headers, body = running.post("/v1/chat/completions",
                                                  {"model": "m", "messages": [{"role": "user", "content": content}], **fields}, headers)
    assert status == expect, body
    return response_headers["x-smg-routed-worker-id"] if status == 200 else json.loads(body)["error"]


def story(seed, words=300):
    return " ".join(f"{seed}-{(seed * 7919 + i * i * 31) % 100003}" for i in range(words))


def test_cache_aware_is_the_default_and_follows_conversations():
    with Worker() as a, Worker() as b, Worker() as c:
        with Gateway([a, b, c], policy="cache_aware") as running:
            homes = set()
            for seed in range(12):
                history = story(seed)
                home = ask(running, history)
                homes.add(home)
                for turn in range(3):
                    history += " " + story(1000 + 10 * seed + turn, 20)
                    assert ask(running, history) == home
            assert len(homes) > 1
            assert running.metric("smg_cache_aware_policy_branch_total", branch="tree_match") == 36
            assert running.metric("smg_cache_aware_policy_branch_total", branch="expected_wait_fallback") == 12
            assert running.metric("smg_cache_aware_match_ratio_count") == 48
            assert running.metric("smg_worker_selection_total", policy="cache_aware") == 48
    flags = subprocess.run([SMG, "--help"], text=True, capture_output=True, env=ENV, check=True).stdout
    assert '--policy TEXT' in flags and '["cache_aware"]' in flags.replace('[cache_aware]', '["cache_aware"]')


def test_cache_aware_keeps_salted_prompts_apart():
    with gateway(*[None] * 8, policy="cache_aware") as (running, *_):
        home = ask(running, story(1), cache_salt="a")
        assert {ask(running, story(1), cache_salt="a") for _ in range(5)} == {home}
        others = {ask(running, story(1), cache_salt=f"other {i}") for i in range(30)}
        assert len(others) > 3  # a miss each, spread over the fleet


def test_cache_aware_knows_prompts_of_token_ids():
    with gateway(*[None] * 4, policy="cache_aware") as (running, *_):
        def generate(ids, headers=None):
            status, response_headers, body = running.post("/generate", {"model": "m", "input_ids": ids}, headers)
            assert status == 200, body
            return response_headers["x-smg-routed-worker-id"]
        prompts = [[seed * 1000 + i for i in range(64)] for seed in range(20)]
        homes = [generate(prompt) for prompt in prompts]
        assert len(set(homes)) > 1
        assert [generate(prompt + [7] * 16) for prompt in prompts] == homes
        # The hint says the same of a request whose body does not.
        hint = ",".join(str(token) for token in prompts[0])
        assert ask(running, "whatever", {"x-smg-routing-tokens": hint}) == homes[0]


def test_a_cache_aware_worker_that_leaves_is_forgotten_and_its_prompts_go_on():
    with gateway(None, None, policy="cache_aware", extra="[health_check]\ndrain_settle_secs = 0\n") as (running, *_):
        home = ask(running, story(1))
        worker = next(item for item in json.loads(running.get("/workers")[2])["workers"] if item["url"] == home)
        assert running.request("DELETE", f"/workers/{worker['id']}")[0] in (200, 202)
        wait_for(lambda: running.get(f"/workers/{worker['id']}")[0] == 404, "the worker to be gone")
        other = ask(running, story(1))
        assert other != home
        assert ask(running, story(1) + " more") == other


def test_an_impossible_combination_of_options_is_refused_before_the_start(tmp_path):
    config = tmp_path / "smg.toml"
    config.write_text(f'[plugins]\npaths = {toml([str(PLUGINS)])}\n[policy]\nname = "cache_aware"\n[policy.cache_aware]\ncache_index = "hash"\n')
    for command in (["check-config", config], ["launch", "--config", config]):
        ended = subprocess.run([SMG, *command], text=True, capture_output=True, env=ENV, timeout=60)
        assert ended.returncode == 2
        assert "cache_boundaries" in ended.stderr + ended.stdout
    config.write_text(config.read_text() + 'cache_boundaries = "8,4"\n')
    ended = subprocess.run([SMG, "check-config", config], text=True, capture_output=True, env=ENV, timeout=60)
    assert ended.returncode == 2 and "cache_boundaries" in ended.stderr


def test_hash_placement_by_flags():
    args = ("--cache-index", "hash", "--cache-boundaries", "16,64")
    with gateway(*[None] * 4, policy="cache_aware", args=args) as (running, *_):
        def generate(ids):
            return running.post("/generate", {"input_ids": ids})[1]["x-smg-routed-worker-id"]
        prompts = [[seed * 1000 + i for i in range(70)] for seed in range(12)]
        homes = [generate(prompt) for prompt in prompts]
        assert [generate(prompt[:20]) for prompt in prompts] == homes
        assert len(set(homes)) > 1


def test_prefix_hash_sends_prompts_that_begin_alike_to_one_worker():
    with gateway(*[None] * 4, policy="prefix_hash") as (running, *_):
        system = "You are a helpful assistant. " * 60  # more than 256 x 4 characters
        homes = {ask(running, system + str(i)) for i in range(10)}
        assert len(homes) == 1
        assert len({ask(running, story(seed)) for seed in range(40)}) == 4
        assert running.metric("smg_prefix_hash_policy_branch_total", branch="ring_hit") == 50
        assert len({ask(running, story(seed), {KEY: "k"}) for seed in range(10)}) == 1


def test_consistent_hashing_goes_by_key_then_by_who_asks():
    with gateway(*[None] * 4, policy="consistent_hashing") as (running, *_):
        homes = {key: ask(running, "hi", {KEY: key}) for key in map(str, range(40))}
        assert set(homes.values()) == {item["url"] for item in json.loads(running.get("/workers")[2])["workers"]}
        assert all(ask(running, "ho", {KEY: key}) == home for key, home in homes.items())
        assert len({ask(running, "hi", {"Authorization": "Bearer a"}) for _ in range(5)}) == 1
        assert len({ask(running, "hi", {"Cookie": f"c={i}"}) for i in range(40)}) == 4
        assert running.metric("smg_consistent_hashing_policy_branch_total", branch="routing_key_hit") == 125


def test_a_target_worker_is_an_index_and_a_wrong_one_is_an_error():
    with gateway(*[None] * 3, policy="consistent_hashing", extra="[retry]\ndisabled = true\n") as (running, *_):
        in_order = [item["url"] for item in json.loads(running.get("/workers")[2])["workers"]]  # of registration
        for i, url in enumerate(in_order):
            assert ask(running, "hi", {"X-SMG-Target-Worker": str(i), KEY: "k"}) == url
        for wrong in ("3", "-1", "x", "1.0"):
            assert ask(running, "hi", {"X-SMG-Target-Worker": wrong}, expect=503)["code"] == "no_available_workers"
        assert running.metric("smg_consistent_hashing_policy_branch_total", branch="target_worker_miss") == 4


def test_manual_keeps_a_key_where_it_was():
    with gateway(*[None] * 4, policy="manual") as (running, *_):
        homes = {key: ask(running, "hi", {KEY: key}) for key in map(str, range(30))}
        assert len(set(homes.values())) > 1
        for _ in range(3):
            assert all(ask(running, "hi", {KEY: key}) == home for key, home in homes.items())
        assert running.metric("smg_manual_policy_branch_total", branch="occupied_hit") == 90
        assert running.metric("smg_manual_policy_cache_entries") == 30


def test_passthrough_takes_the_first_and_says_that_there_are_more():
    with gateway(None, None, policy="passthrough") as (running, *_):
        first = json.loads(running.get("/workers")[2])["workers"][0]["url"]  # in order of registration
        assert {ask(running, "hi") for _ in range(6)} == {first}
        wait_for(lambda: "passthrough" in running.log_path.read_text() and "warn" in running.log_path.read_text(), "the warning")


def test_bucket_outside_of_prefill_pools_is_random_and_says_so():
    with gateway(None, None, policy="bucket") as (running, *_):
        assert len({ask(running, "hi") for _ in range(40)}) == 2
        wait_for(lambda: "bucket" in running.log_path.read_text() and "warn" in running.log_path.read_text(), "the warning")


@pytest.mark.parametrize("policy", ["cache_aware", "prefix_hash", "consistent_hashing", "manual", "power_of_two", "least_load", "bucket",
                                    "passthrough"])
def test_no_request_is_lost_while_workers_come_and_go(policy):
    """Eight clients ask while two of five workers are removed and added again and again."""
    extra = "[health_check]\ndrain_settle_secs = 0\n"
    with gateway(*[None] * 5, policy=policy, extra=extra) as (running, *workers):
        stop = threading.Event()
        failures = []

        def client(number):
            turn = 0
            while not stop.is_set():
                turn += 1
                try:
                    ask(running, story(number * 100 + turn % 7, 50), {KEY: f"{number}-{turn % 5}"})
                except AssertionError as failure:
                    failures.append(failure)
                    return
        clients = [threading.Thread(target=client, args=(number,)) for number in range(8)]
        for thread in clients:
            thread.start()
        try:
            for _ in range(4):
                for worker in workers[:2]:
                    shown = next(item for item in json.loads(running.get("/workers")[2])["workers"] if item["url"] == worker.url)
                    running.request("DELETE", f"/workers/{shown['id']}")
                    wait_for(lambda: running.get(f"/workers/{shown['id']}")[0] == 404, "the worker to be gone")
                    assert running.post("/workers", {"url": worker.url})[0] == 202
                    wait_for(lambda: any(item["url"] == worker.url and item["is_healthy"]
                                         for item in json.loads(running.get("/workers")[2])["workers"]), "the worker to be back")
        finally:
            stop.set()
            for thread in clients:
                thread.join()
        assert not failures, failures
        faults = [line for line in running.metrics().splitlines() if line.startswith("smg_plugin_faults_total") and not line.endswith(" 0")]
        assert faults == []
