"""Which policy chooses for which model: the configuration, and the label of a model's first worker."""
import contextlib
import json

from support import Gateway, Worker, wait_for


def register(running, worker, **fields):
    status, _, body = running.request("POST", "/workers", json.dumps({"url": worker.url, **fields}),
                                      {"Content-Type": "application/json"})
    assert status == 202, body
    worker_id = json.loads(body)["worker_id"]
    wait_for(lambda: running.get(f"/workers/{worker_id}")[0] == 200 and
             json.loads(running.get(f"/workers/{worker_id}")[2])["status"] == "ready", "the worker to be ready")
    return worker_id


def remove(running, worker_id):
    assert running.request("DELETE", f"/workers/{worker_id}")[0] in (200, 202)
    wait_for(lambda: running.get(f"/workers/{worker_id}")[0] == 404, "the worker to be gone")


def chosen_by(running, model):
    """The policy whose count of choices rose with one request."""
    def counts():
        return {policy: running.metric("smg_worker_selection_total", model=model, policy=policy)
                for policy in ("round_robin", "random", "least_load", "power_of_two")}
    before = counts()
    assert running.chat(model=model)[0] == 200
    after = counts()
    (policy,) = [policy for policy in after if after[policy] > before[policy]]
    return policy


@contextlib.contextmanager
def fleet(*models, extra="", policy="round_robin"):
    workers = [Worker(models=[model]) for model in models]
    with Gateway([], extra="[health_check]\ndrain_settle_secs = 0\n" + extra, policy=policy, ready=False) as running:
        running.wait_listening()
        yield (running, *workers)
        for worker in workers:
            worker.__exit__()


def test_the_label_of_a_models_first_worker_chooses_its_policy_until_the_last_one_leaves():
    with fleet("labelled", "labelled", "plain") as (running, first, second, plain):
        register(running, plain)
        one = register(running, first, labels={"policy": "LeastLoad"})
        two = register(running, second, labels={"policy": "random"})
        assert chosen_by(running, "labelled") == "least_load"
        assert chosen_by(running, "plain") == "round_robin"
        assert running.request("PATCH", f"/workers/{one}", json.dumps({"labels": {"policy": "power_of_two"}}),
                               {"Content-Type": "application/json"})[0] == 202
        wait_for(lambda: json.loads(running.get(f"/workers/{one}")[2])["labels"]["policy"] == "power_of_two", "the new label")
        assert chosen_by(running, "labelled") == "least_load"
        remove(running, one)
        assert chosen_by(running, "labelled") == "least_load"
        remove(running, two)
        register(running, second, labels={"policy": "random"})
        assert chosen_by(running, "labelled") == "random"


def test_an_unknown_label_is_a_warning_and_the_default_policy():
    with fleet("m") as (running, worker):
        register(running, worker, labels={"policy": "no_such_thing"})
        assert chosen_by(running, "m") == "round_robin"
        assert "no_such_thing" in running.log_path.read_text()


def test_the_configuration_goes_before_a_label():
    with fleet("m", extra='[policy.models]\nm = "least_load"\n') as (running, worker):
        register(running, worker, labels={"policy": "random"})
        assert chosen_by(running, "m") == "least_load"


def test_models_come_and_go_under_load_each_with_an_instance_of_its_own():
    with fleet("a", "b", "c") as (running, *workers):
        for turn in range(5):
            ids = [register(running, worker, labels={"policy": "least_load"}) for worker in workers]
            for model in "abc":
                assert chosen_by(running, model) == "least_load"
            for worker_id in ids:
                remove(running, worker_id)
            assert running.chat(model="a")[0] == 404


def test_instances_of_models_that_left_go_even_when_nobody_asks_anything():
    with fleet("m") as (running, worker):
        before = running.threads()
        worker_id = register(running, worker, labels={"policy": "cache_aware"})
        for _ in range(8):  # every loop has seen the fleet
            assert running.chat()[0] == 200
        wait_for(lambda: running.threads() == before + 1, "the instance's thread")
        remove(running, worker_id)
        wait_for(lambda: running.threads() == before, "the instance's thread to end")
