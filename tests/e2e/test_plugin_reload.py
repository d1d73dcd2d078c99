"""Plugin libraries exchanged under a running gateway: what is picked up, when, and what is refused."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

from engines import Engine
from observe import Stream
from support import BUILD, DEADLINE, PLUGINS, SLOW, Gateway, Worker, free_port, gateway, wait_for

VERSIONS = BUILD / "lib" / "smg" / "reload"
BROKEN = BUILD / "lib" / "smg" / "broken"


def library(version, pin=0):
    return VERSIONS / f"versioned-{pin}-{version}.so"


def plugin(running, name, kind="policy"):
    """What GET /plugins says of one."""
    status, _, body = running.get("/plugins")
    assert status == 200
    found = [entry for entry in json.loads(body)["plugins"] if entry["name"] == name and entry["kind"] == kind]
    return found[0] if found else None


def reload(running, name, query=""):
    status, _, body = running.post(f"/plugins/{name}/reload{query}", b"")
    return status, json.loads(body)


class Served:
    """A gateway whose policy is the library at `file`, over three workers that tell who chose."""

    def __init__(self, tmp_path, source, **options):
        self.place = tmp_path / "plugins"
        self.place.mkdir()
        self.file = self.place / "versioned.so"
        shutil.copy(source, self.file)
        self.options = options

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        self.running, *self.workers = self.stack.enter_context(
            gateway(None, None, None, policy="versioned", plugins=[self.place], **self.options))
        # In the order of registration, which is that of the pool.
        self.order = [worker["url"] for worker in json.loads(self.running.get("/workers")[2])["workers"]]
        return self

    def __exit__(self, *details):
        return self.stack.__exit__(*details)

    def version(self):
        status, headers, _ = self.running.chat()
        assert status == 200
        return self.order.index(headers["x-smg-routed-worker-id"]) + 1

    def becomes(self, version):
        wait_for(lambda: self.version() == version, f"version {version}", 3 * DEADLINE)

    def generation(self):
        return plugin(self.running, "versioned")["generation"]

    def error(self):
        return plugin(self.running, "versioned")["last_error"]


def test_the_admin_api_lists_every_plugin():
    with gateway(None) as (running, _):
        entry = plugin(running, "round_robin")
        assert entry["state"] == "running" and entry["uses"] >= 1 and entry["last_error"] is None
        assert entry["path"] == str(PLUGINS / "round_robin.so") and entry["abi"] == "0.3"
        assert len(entry["hash"]) == 16 and entry["draining"] == [] and not entry["file_gone"]
        assert plugin(running, "random")["state"] == "loaded"
        assert plugin(running, "http", "transport")["state"] == "running"
        kinds = {entry["kind"] for entry in json.loads(running.get("/plugins")[2])["plugins"]}
        assert kinds == {"policy", "transport", "monitor"}


def test_without_a_watch_a_file_is_taken_on_request_only(tmp_path):
    with Served(tmp_path, library(1), watch=False) as served:
        shutil.copy(library(2), served.file)
        (served.place / "other.so").write_bytes(b"no library")
        assert served.version() == 1
        status, answer = reload(served.running, "versioned")
        assert (status, answer["status"], answer["handed_over"]) == (200, "reloaded", [])
        assert served.version() == 2
        assert json.loads(served.running.get("/plugins")[2])["refused"] == []


@pytest.mark.parametrize("how", ["cp", "install", "rename", "truncate", "half-written"])
def test_a_new_build_is_picked_up_once_it_is_complete(tmp_path, how):
    with Served(tmp_path, library(1)) as served:
        new = library(2).read_bytes()
        if how == "cp":
            subprocess.run(["cp", library(2), served.file], check=True)
        elif how == "install":
            subprocess.run(["install", library(2), served.file], check=True)
        elif how == "rename":
            shutil.copy(library(2), served.place / "versioned.so.new")
            os.rename(served.place / "versioned.so.new", served.file)
        elif how == "truncate":
            served.file.write_bytes(b"")
            wait_for(served.error, "the empty file to be refused")
            assert "is empty" in served.error() and served.version() == 1
            served.file.write_bytes(new)
        else:
            with open(served.file, "wb") as file:
                file.write(new[: len(new) // 2])
                file.flush()
                wait_for(served.error, "the half of a file to be refused")
                assert "is truncated" in served.error() and served.version() == 1
                file.write(new[len(new) // 2:])
        served.becomes(2)
        assert served.error() is None
        generation = served.generation()
        # Two more looks at the directory change nothing.
        swaps = served.running.metric("smg_plugin_reload_steps_total", library="versioned", step="swap")
        time_to_look_twice(served)
        assert served.generation() == generation and swaps == 1
        assert served.running.metric("smg_plugin_reload_steps_total", library="versioned", step="swap") == 1
        assert served.running.metric("smg_plugin_generation", library="versioned") == generation


def time_to_look_twice(served):
    """Another file comes and is met: so the directory has been looked at twice since."""
    (served.place / "other.so").write_bytes(b"no library")
    wait_for(lambda: any(entry["path"].endswith("other.so") for entry in
                         json.loads(served.running.get("/plugins")[2])["refused"]), "the other file to be met")


def test_a_symbolic_link_that_is_turned_is_a_new_file(tmp_path):
    with Served(tmp_path, library(1)) as served:
        link = served.place / "link"
        link.symlink_to(library(3))
        os.rename(link, served.file)
        served.becomes(3)


def test_a_file_that_goes_leaves_its_code_running(tmp_path):
    with Served(tmp_path, library(1)) as served:
        served.file.unlink()
        wait_for(lambda: plugin(served.running, "versioned")["file_gone"], "the file to be missed")
        assert served.version() == 1
        status, answer = reload(served.running, "versioned")
        assert status == 422 and "No such file" in answer["error"]["message"]
        shutil.copy(library(2), served.file)
        served.becomes(2)
        assert not plugin(served.running, "versioned")["file_gone"]


@pytest.mark.parametrize("pin", [1, 2, 3])
def test_the_new_code_runs_even_if_the_old_is_pinned(tmp_path, pin):
    with Served(tmp_path, library(1, pin)) as served:
        assert served.version() == 1
        for version in (2, 3, 1):
            shutil.copy(library(version, pin), served.file)
            status, answer = reload(served.running, "versioned")
            assert status == 200 and answer["status"] == "reloaded"
            assert served.version() == version
            assert plugin(served.running, "versioned")["version"] == str(version)


def test_a_signal_reloads_what_has_changed(tmp_path):
    with Served(tmp_path, library(1)) as served:
        shutil.copy(library(2), served.file)
        served.running.process.send_signal(signal.SIGHUP)
        served.becomes(2)


def test_a_policy_that_is_dropped_in_can_be_asked_for_by_label(tmp_path):
    place = tmp_path / "plugins"
    place.mkdir()
    with gateway(None, plugins=[place]) as (running, worker):
        shutil.copy(library(1), place / "versioned.so")
        wait_for(lambda: plugin(running, "versioned"), "the new policy")
        assert plugin(running, "versioned")["state"] == "loaded"
        with contextlib.ExitStack() as stack:
            other = stack.enter_context(Worker(models=("other",)))
            running.post("/workers", {"url": other.url, "model_id": "other", "labels": {"policy": "versioned"}})
            wait_for(lambda: running.chat(model="other")[0] == 200, "the worker to be there")
            assert plugin(running, "versioned")["state"] == "running"
            assert running.metric("smg_worker_selection_total", policy="versioned") >= 1


CANDIDATES = {
    "canary_crash_load": "crashes in its smoke test",
    "canary_crash_create": "crashes in its smoke test",
    "canary_hang_load": "does not come to an end in its smoke test",
    "canary_hang_create": "does not come to an end in its smoke test",
    "canary_exit": "ends the process in its smoke test",
    "canary_throw": "",
    "canary_alloc": "",
    "canary_wrong_major": "was built for ABI",
    "canary_newer_minor": "was built for ABI",
    "canary_no_entry": "does not export smg_plugin_entry",
    "canary_null_table": "smg_plugin_entry returned NULL",
}


def children(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@pytest.mark.parametrize("name", [*CANDIDATES, "wrong architecture", "not a library"])
def test_a_bad_candidate_is_refused_while_the_old_one_serves(tmp_path, name):
    with canaries(tmp_path) as running:
        file = tmp_path / "plugins" / "canary_policy.so"
        descriptors, run_dir = running.descriptors(), copies(running)
        if name == "wrong architecture":
            image = bytearray((BROKEN / "canary_good2.so").read_bytes())
            image[18:20] = (183 if image[18] == 62 else 62).to_bytes(2, "little")
            file.write_bytes(image)
            reason = "was built for"
        elif name == "not a library":
            file.write_bytes(b"#!/bin/sh\n")
            reason = "is no shared library"
        else:
            shutil.copy(BROKEN / f"{name}.so", file)
            reason = CANDIDATES[name]
        begun = time.monotonic()
        status, answer = reload(running, "canary_policy")
        assert time.monotonic() - begun < 5 * SLOW
        assert status == 422, answer
        message = answer["error"]["message"]
        assert message.startswith(str(file) + ": ") and reason in message
        assert running.chat()[0] == 200
        entry = plugin(running, "canary_policy")
        assert entry["version"] == "1" and entry["last_error"] == message and entry["state"] == "running"
        # Nothing is left of it.
        assert children(running.process.pid) == []
        wait_for(lambda: running.descriptors() <= descriptors + 1, "its descriptors to be closed")
        wait_for(lambda: copies(running) == run_dir, "its copy to be removed")
        # What is whole again is taken.
        shutil.copy(BROKEN / "canary_good2.so", file)
        assert reload(running, "canary_policy")[0] == 200
        assert plugin(running, "canary_policy")["version"] == "2"
        assert running.chat()[0] == 200


@contextlib.contextmanager
def canaries(tmp_path):
    place = tmp_path / "plugins"
    place.mkdir()
    shutil.copy(BROKEN / "canary_good.so", place / "canary_policy.so")
    with gateway(None, policy="canary_policy", plugins=[place], watch=False) as (running, _):
        running.place = place
        yield running


def copies(running):
    """The private copies that are in use."""
    maps = pathlib.Path(f"/proc/{running.process.pid}/maps").read_text()
    directory = {pathlib.Path(line.split()[-1]).parent for line in maps.splitlines() if "/smg-plugins-" in line}
    assert len(directory) == 1
    return sorted(entry.name for entry in directory.pop().iterdir() if "canary" not in entry.name)


def test_an_older_minor_is_accepted(tmp_path):
    with canaries(tmp_path) as running:
        shutil.copy(BROKEN / "canary_older_minor.so", tmp_path / "plugins" / "canary_policy.so")
        status, answer = reload(running, "canary_policy")
        assert status == 200, answer
        assert plugin(running, "canary_policy")["abi"] == "0.2"
        assert running.chat()[0] == 200


def test_what_nobody_has_is_named_in_the_refusal():
    with gateway(None) as (running, _):
        status, answer = reload(running, "nobody")
        assert status == 404
        assert "no plugin is named 'nobody'; there are" in answer["error"]["message"]
        assert "policy.round_robin" in answer["error"]["message"]
        status, answer = reload(running, "round_robin", "?state=perhaps")
        assert status == 400 and "state=perhaps" in answer["error"]["message"]
        assert reload(running, "policy.round_robin")[0] == 200


def test_streams_run_through_reloads_of_every_kind():
    with Engine() as engine, Gateway([engine], policy="cache_aware") as running:
        stream = Stream(running.port, max_tokens=200, sim_interval_ms=20)
        stream.flows()
        names = ["cache_aware", "http", "http_loads", "prometheus_scrape"]
        known = {(entry["kind"], entry["name"]) for entry in json.loads(running.get("/plugins")[2])["plugins"]}
        assert {name for _, name in known} >= set(names)
        for _ in range(5):
            for name in names:
                status, answer = reload(running, name)
                assert status == 200, answer
                assert running.chat(max_tokens=1)[0] == 200
        assert stream.result() == "complete"
        wait_for(lambda: all(entry["draining"] == [] for entry in json.loads(running.get("/plugins")[2])["plugins"]),
                 "every old instance to go")


def test_the_file_system_may_refuse_the_copy(tmp_path):
    """A run directory that is full, read-only or mounted noexec: the running instance is unharmed."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    run = tmp_path / "run"
    run.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", run], check=True)
    try:
        with gateway(None, args=["--plugin-run-dir", run]) as (running, _):
            def refused(words):
                status, answer = reload(running, "round_robin")
                assert status == 422 and words in answer["error"]["message"], answer
                assert "run_dir" in answer["error"]["message"]
                assert running.chat()[0] == 200

            with open(run / "filler", "wb") as filler, contextlib.suppress(OSError):
                while True:
                    filler.write(bytes(1 << 20))
            refused("No space left on device")
            (run / "filler").unlink()
            assert reload(running, "round_robin")[0] == 200
            subprocess.run(["mount", "-o", "remount,noexec", run], check=True)
            refused("noexec")
            subprocess.run(["mount", "-o", "remount,exec,ro", run], check=True)
            refused("Read-only file system")
            subprocess.run(["mount", "-o", "remount,rw", run], check=True)
            assert reload(running, "round_robin")[0] == 200
    finally:
        subprocess.run(["umount", "-l", run], check=True)


def test_a_plugin_directory_that_goes_leaves_everything_running(tmp_path):
    with Served(tmp_path, library(1)) as served:
        os.rename(served.place, tmp_path / "elsewhere")
        assert served.version() == 1
        served.running.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "cannot search the plugin directory" in served.running.log_path.read_text(), "the complaint")
        assert served.version() == 1
        status, answer = reload(served.running, "versioned")
        assert status == 422 and "cannot be read" in answer["error"]["message"]
        os.rename(tmp_path / "elsewhere", served.place)
        assert reload(served.running, "versioned")[0] == 200


def test_a_killed_gateway_leaves_no_copies_behind_for_long(tmp_path):
    with Engine() as engine:
        first = Gateway([engine], args=["--plugin-run-dir", tmp_path])
        assert len(list(tmp_path.glob("smg-plugins-*"))) == 1
        with Gateway([engine], args=["--plugin-run-dir", tmp_path]):
            assert len(list(tmp_path.glob("smg-plugins-*"))) == 2
            first.process.kill()
            first.process.wait()
        with Gateway([engine], args=["--plugin-run-dir", tmp_path]):
            assert len(list(tmp_path.glob("smg-plugins-*"))) == 1
        first.log.close()
        first.dir.cleanup()
    assert list(tmp_path.glob("smg-plugins-*")) == []


def test_a_worker_that_is_not_up_yet_is_looked_at_by_the_new_transport():
    with Gateway([f"http://127.0.0.1:{free_port()}"], ready=False) as running:
        running.wait_listening()
        assert reload(running, "transport.http")[0] == 200
        wait_for(lambda: plugin(running, "http", "transport")["draining"] == [], "the old transport to be let go")
        assert "is not up yet" in running.log_path.read_text()
