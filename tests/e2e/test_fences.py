"""Plugins that break the rules: requests go on, the faults are counted, and too many of them fence the plugin."""
import pytest

from observe import Events
from support import BUILD, gateway, wait_for

FENCES = BUILD / "lib" / "smg" / "fences"


def unruly(mode):
    return {"policy": "unruly", "plugins": [FENCES], "extra": f'[policy.unruly]\nmode = "{mode}"\n', "args": ("--plugin-max-faults", "20")}


@pytest.mark.parametrize("mode, kind, chats", [
    ("throw", "exception", 60), ("index", "selection", 60), ("status", "selection", 60), ("slow", "slow_select", 25),
    ("completed", "exception", 60), ("garbage", "bad_call", 60)])
def test_a_policy_that_breaks_a_rule_fails_no_request_and_is_fenced(mode, kind, chats):
    with gateway(None, None, **unruly(mode)) as (running, *workers):
        events = Events(running, "plugin_state")
        for _ in range(chats):
            assert running.chat()[0] == 200
        assert running.metric("smg_plugin_faults_total", plugin="unruly", kind=kind) == 20
        assert running.metric("smg_plugin_faults_total") == 20
        assert running.metric("smg_plugin_fenced", kind="policy", plugin="unruly") == 1
        wait_for(lambda: [fields for _, fields in list(events.seen) if "fenced: 20 faults within 60 s" in str(fields)], "the event")
        assert sum(len(worker.requests) for worker in workers) == chats
        log = running.log_path.read_text()
        assert log.count("policy.unruly is fenced") == 1
        assert "requests go to the least loaded eligible worker" in log


def test_a_fence_can_be_switched_off():
    with gateway(None, **{**unruly("throw"), "args": ("--plugin-max-faults", "0")}) as (running, _):
        for _ in range(150):
            assert running.chat()[0] == 200
        assert running.metric("smg_plugin_faults_total", plugin="unruly", kind="exception") == 150
        assert running.metric("smg_plugin_fenced") == 0


def test_a_policy_that_keeps_the_rules_has_no_faults():
    with gateway(None, None, **unruly("tame")) as (running, *_):
        for _ in range(50):
            assert running.chat()[0] == 200
        assert running.metric("smg_plugin_faults_total") == 0
        assert running.metric("smg_plugin_fenced") == 0
