"""Policies as libraries: what ships, what a stranger writes, and what is refused."""
import shutil
import subprocess

import pytest

from support import BUILD, ENV, ROOT, SMG, gateway


def test_round_robin_takes_turns_and_random_meets_everybody():
    for policy in ("round_robin", "random"):
        with gateway(None, None, None, policy=policy, loops=1) as (running, *workers):
            for _ in range(90):
                assert running.chat()[0] == 200
            counts = [len(worker.requests) for worker in workers]
            if policy == "round_robin":
                assert counts == [30, 30, 30]
            else:
                assert min(counts) > 10


@pytest.fixture(scope="session")
def strangers(tmp_path_factory):
    """The example policy in C, built against the installed SDK alone."""
    place = tmp_path_factory.mktemp("sdk")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", place / "prefix"], check=True, stdout=subprocess.DEVNULL)
    source = shutil.copytree(ROOT / "sdk" / "templates" / "policy-c", place / "policy-c")
    build = place / "build"
    subprocess.run(["cmake", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={place / 'prefix'}"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build], check=True, stdout=subprocess.DEVNULL)
    libraries = list(build.rglob("*.so"))
    assert len(libraries) == 1
    return libraries[0]


def test_a_policy_written_in_c_against_the_installed_sdk_routes(strangers):
    listed = subprocess.run([SMG, "plugins", "list", "--plugin-paths", strangers.parent], text=True, capture_output=True, env=ENV,
                            check=True)
    (kind, name), = {tuple(line.split()[:2]) for line in listed.stdout.splitlines()}
    assert kind == "policy"
    with gateway(None, None, policy=name, plugins=[strangers.parent]) as (running, *workers):
        for _ in range(20):
            assert running.chat()[0] == 200
        assert sum(len(worker.requests) for worker in workers) == 20
        assert running.metric("smg_worker_selection_total", policy=name) == 20
        assert running.metric("smg_plugin_faults_total", plugin=name) == 0
