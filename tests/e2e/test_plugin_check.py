"""The referee of the SDK: it passes the plugins that ship, and names the rule that a broken one breaks."""
import json
import subprocess
import time

import pytest

from support import BUILD, ENV, PLUGINS, SLOW

CHECK = BUILD / "bin" / "smg-plugin-check"
BROKEN = BUILD / "lib" / "smg" / "broken"
SHIPPED = sorted(PLUGINS.glob("*.so"))
RULES = sorted(file.stem for file in BROKEN.glob("*.so") if not file.stem.startswith(("canary_", "good-")))


def rule_of(name):
    return "thread-tags" if name.startswith("thread-tags") else name


def check(file, *arguments):
    """The exit code and the report of a run."""
    done = subprocess.run([CHECK, file, "--json", *arguments], capture_output=True, text=True, env=ENV, timeout=110 * SLOW)
    assert done.returncode in (0, 1), f"exit code {done.returncode}: {done.stderr}"
    return done.returncode, json.loads(done.stdout)


def failed(report):
    return {rule["rule"]: rule["text"] for rule in report["rules"] if rule["result"] == "failed"}


def smoke(file, *arguments, limit=15):
    """Exit code and verdict, None without one, of the trial before a library is opened in the gateway."""
    start = time.monotonic()
    done = subprocess.run([CHECK, "--smoke", file, *arguments], capture_output=True, text=True, env=ENV, timeout=limit * SLOW)
    lines = done.stdout.splitlines()
    assert len(lines) <= 1, lines
    return done.returncode, json.loads(lines[0]) if lines else None, time.monotonic() - start


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
@pytest.mark.timeout(120 * SLOW)
def test_a_plugin_that_ships_keeps_every_rule(file):
    code, report = check(file, "--full")
    assert failed(report) == {}
    assert code == 0 and report["ok"] and report["passed"] > 15


@pytest.mark.parametrize("name", ["good-policy", "good-monitor", "good-transport"])
def test_the_library_that_the_broken_ones_are_made_from_keeps_every_rule(name):
    code, report = check(BROKEN / f"{name}.so")
    assert failed(report) == {} and code == 0


@pytest.mark.parametrize("name", RULES)
@pytest.mark.timeout(120 * SLOW)
def test_a_broken_library_fails_by_the_name_of_the_rule(name):
    rule = rule_of(name)
    code, report = check(BROKEN / f"{name}.so", "--rule", rule, *(["--uniform"] if rule == "select-uniform" else []))
    assert code == 1
    assert list(failed(report)) == [rule]
    assert report["rules"][0]["advice"], "a failure says what to do about it"


def test_every_rule_has_a_library_that_breaks_it():
    """`elf` has a file that is none, `life` is what many of them break."""
    named = set()
    for file in [PLUGINS / "least_load.so", PLUGINS / "http.so", PLUGINS / "http_loads.so"]:
        named |= {rule["rule"] for rule in check(file)[1]["rules"]}
    assert named - {rule_of(name) for name in RULES} == {"elf", "life"}


def test_a_file_that_is_no_library_fails_by_the_rule_elf(tmp_path):
    text = tmp_path / "text.so"
    text.write_text("no library")
    cut = tmp_path / "cut.so"
    cut.write_bytes((PLUGINS / "least_load.so").read_bytes()[:4096])
    for file in (text, cut):
        code, report = check(file)
        assert code == 1 and list(failed(report)) == ["elf"]


def test_wrong_usage_has_an_exit_code_of_its_own(tmp_path):
    for arguments in ([], [PLUGINS / "least_load.so", "--rule", "no-such-rule"], ["--kind", "sort", "x.so"], ["--no-such-option", "x.so"], ["a.so", "b.so"], [str(tmp_path / "missing.so")],
                      [str(PLUGINS / "least_load.so"), "--kind", "monitor"]):
        done = subprocess.run([CHECK, *arguments], capture_output=True, text=True, env=ENV, timeout=20 * SLOW)
        assert done.returncode == 2, arguments
        assert done.stderr.startswith("smg-plugin-check: "), done.stderr


def test_the_report_is_readable_without_json():
    done = subprocess.run([CHECK, BROKEN / "leak.so", "--full"], capture_output=True, text=True, env=ENV, timeout=110 * SLOW)
    assert done.returncode == 1
    lines = [line.split(None, 2) for line in done.stdout.splitlines()]
    assert ["FAIL", "leak"] in [words[:2] for words in lines]
    assert "policy broken_policy" in done.stdout and "-> destroy() frees all" in done.stdout


@pytest.mark.parametrize("name", ["canary_good", "canary_good2", "canary_older_minor"])
def test_the_smoke_test_accepts_what_may_be_opened(name):
    code, verdict, _ = smoke(BROKEN / f"{name}.so")
    assert code == 0
    assert verdict == {"ok": True, "plugins": [{"kind": "policy", "name": "canary_policy", "version": "2" if name == "canary_good2" else "1"}]}


@pytest.mark.parametrize("name, rule, words", [
    ("canary_throw", "exception", "out of luck"),
    ("canary_wrong_major", "descriptor", "was built for ABI"),
    ("canary_newer_minor", "descriptor", "was built for ABI"),
    ("canary_no_entry", "exports", "does not export smg_plugin_entry"),
    ("canary_null_table", "descriptor", "returned NULL"),
])
def test_the_smoke_test_refuses_with_a_sentence(name, rule, words):
    code, verdict, _ = smoke(BROKEN / f"{name}.so")
    assert code == 1 and verdict["ok"] is False
    assert verdict["rule"] == rule and words in verdict["problem"]


@pytest.mark.parametrize("name", ["canary_crash_load", "canary_crash_create", "canary_hang_load", "canary_hang_create", "canary_exit", "canary_alloc"])
def test_a_library_that_takes_the_process_down_leaves_no_verdict(name):
    code, verdict, _ = smoke(BROKEN / f"{name}.so", limit=10)
    assert verdict is None
    assert code == 0 if name == "canary_exit" else code != 0


def test_options_of_the_running_instance_are_tried_as_far_as_the_new_library_knows_them(tmp_path):
    options = tmp_path / "options.toml"
    options.write_text("[policy.least_load]\nno_longer_known = 3\n")
    assert smoke(PLUGINS / "least_load.so", "--options", options)[0] == 0
    options.write_text("[policy.broken_policy]\nsize = 101\n")
    code, verdict, _ = smoke(BROKEN / "good-policy.so", "--options", options)
    assert code == 1 and verdict["rule"] == "options"
    assert "[policy.broken_policy] size = 101" in verdict["problem"] and "1 to 100" in verdict["problem"]
