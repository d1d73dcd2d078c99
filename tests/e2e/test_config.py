"""Wrong configurations: one clear message each, exit code 2 before listening, and check-config agrees."""
import json
import re
import shutil
import subprocess

import pytest

from support import BUILD, DEADLINE, ENV, PLUGINS, ROOT, SMG, Worker, free_port

P = f"[plugins]\npaths = [{json.dumps(str(PLUGINS))}]\n"


def run(arguments, **options):
    return subprocess.run([SMG, *arguments], capture_output=True, text=True, env=ENV, timeout=DEADLINE * 3, **options)


def refusals(tmp_path, content, *flags):
    """What the start and check-config say; they must agree."""
    file = tmp_path / "smg.toml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    start = run(["launch", "--config", file, *flags])
    check = run(["check-config", file, *flags])
    assert start.returncode == 2 and check.returncode == 2, start.stderr + check.stderr
    assert start.stderr == check.stderr
    return start.stderr.replace(str(file), "smg.toml").strip().split("\n")


ONE_LINE = {
    "an unknown key": (P + "[overload]\nwaiting_request = 4\n",
                       "smg.toml:4: [overload] waiting_request = 4: unknown key; did you mean waiting_requests?"),
    "an unknown section": (P + "[serve]\nport = 4\n", "smg.toml:3: [serve]: unknown section; did you mean server?"),
    "a wrong type": (P + '[server]\nport = "80"\n', 'smg.toml:4: [server] port = "80": is a string, must be an integer'),
    "a port out of range": (P + "[server]\nport = 70000\n", "smg.toml:4: [server] port = 70000: must be from 1 to 65535"),
    "a port of zero": (P + "[server]\nport = 0\n", "smg.toml:4: [server] port = 0: Must be > 0"),
    "no waiting requests": (P + "[overload]\nwaiting_requests = 0\n",
                            "smg.toml:4: [overload] waiting_requests = 0: Must be >= 1 (0 would mark every worker overloaded)"),
    "a usage above one": (P + "[overload]\ntoken_usage = 1.5\n", "smg.toml:4: [overload] token_usage = 1.5: Must be a fraction in (0.0, 1.0]"),
    "a usage of zero": (P + "[overload]\ntoken_usage = 0\n", "smg.toml:4: [overload] token_usage = 0: Must be a fraction in (0.0, 1.0]"),
    "a usage that is no number": (P + "[overload]\ntoken_usage = nan\n", "smg.toml:4: [overload] token_usage = nan: Must be a fraction in (0.0, 1.0]"),
    "a poll interval of zero": (P + "[load_monitor]\ninterval_secs = 0\n", "smg.toml:4: [load_monitor] interval_secs = 0: Must be > 0"),
    "a policy that is not there": (P + '[policy]\nname = "round_robbin"\n',
                                   f"smg.toml:4: [policy] name: no policy is named 'round_robbin'; did you mean round_robin? "
                                   f"(there are: bucket, cache_aware, consistent_hashing, least_load, manual, passthrough, power_of_two, prefix_hash, random, round_robin; searched: {PLUGINS})"),
    "options of a plugin that is not there": (P + "[policy.nearest]\nx = 1\n", None),
    "a worker without a URL": (P + "[[worker]]\nmodel = \"m\"\n", "smg.toml:3: [[worker]] has no url"),
    "a worker without a scheme": (P + '[[worker]]\nurl = "w:80"\n',
                                  'smg.toml:4: [[worker]] url = "w:80": has no scheme; a worker\'s URL is written like http://host:8000'),
    "a worker twice": (P + '[[worker]]\nurl = "http://w"\n[[worker]]\nurl = "http://W:80/"\n', None),
    "an unknown key of a worker": (P + '[[worker]]\nurl = "http://w"\nmodell = "m"\n',
                                   'smg.toml:5: [[worker]] modell: unknown key; did you mean model?'),
    "a duplicate key": (P + "[server]\nport = 1\nport = 2\n", None),
    "broken TOML": (P + "[server\n", None),
    "a zero byte": (P + "[server]\n\0\n", "smg.toml:4:1: contains a zero byte; this is not a text file"),
    "UTF-16": ("[server]\n".encode("utf-16"), "smg.toml:1:1: the file is UTF-16; TOML is UTF-8, save it as that"),
}


@pytest.mark.parametrize("name", ONE_LINE)
def test_one_clear_message(tmp_path, name):
    content, expected = ONE_LINE[name]
    lines = refusals(tmp_path, content)
    assert len(lines) == 1
    assert lines[0].startswith("smg.toml:") and len(lines[0]) > 25
    if expected is not None:
        assert lines[0] == expected


def test_all_problems_are_told_at_once(tmp_path):
    lines = refusals(tmp_path, P + "[server]\nprt = 1\nhost = 2\n[log]\nlevel = \"loud\"\n")
    assert len(lines) == 3
    assert lines[2] == 'smg.toml:7: [log] level = "loud": must be one of debug, info, warn, error'


def test_wrong_flags(tmp_path):
    assert refusals(tmp_path, P, "--prot", "80") == ["--prot: unknown flag; did you mean port? (smg --help lists all)"]
    assert refusals(tmp_path, P, "--port", "abc") == ["--port abc: must be an integer"]
    assert refusals(tmp_path, P, "--redis-url", "x") == [
        "--redis-url is a flag of the reference gateway that this version does not have"]
    assert refusals(tmp_path, P, "--worker-urls", "ftp://w") == [
        "worker ftp://w: no plugin offers a transport for the scheme 'ftp' (there are: http, https)"]
    assert refusals(tmp_path, P, "--model-alias", "a=b", "--model-alias", "a=c") == [
        "--model-alias a=b a=c: names 'a' twice with different targets"]


def test_secrets_are_never_shown(tmp_path):
    lines = refusals(tmp_path, P + '[[worker]]\nurl = "http://user:secret1@w"\napi_key = 7\n')
    assert "secret1" not in "\n".join(lines)
    lines = refusals(tmp_path, P + '[[worker]]\nurl = "http://w"\napi_key = ["secret2"]\n')
    assert "secret2" not in "\n".join(lines)


@pytest.mark.parametrize("content", ["", "\r\n", "\ufeff" + P, P.replace("\n", "\r\n") + "[server]\r\nport = 1234\r\n"],
                         ids=["an empty file", "a blank line", "a byte order mark", "CRLF"])
def test_what_is_fine(tmp_path, content):
    file = tmp_path / "smg.toml"
    file.write_bytes(content.encode())
    done = run(["check-config", file])
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{file}: ok\n")


def test_files_that_cannot_be_read(tmp_path):
    assert refusals_of_file(tmp_path / "missing.toml").endswith("missing.toml: No such file or directory")
    assert "is a directory, must be a TOML file" in refusals_of_file(tmp_path)


def refusals_of_file(file):
    start = run(["launch", "--config", file])
    assert start.returncode == 2
    assert run(["check-config", file]).stderr == start.stderr
    return start.stderr.strip()


@pytest.mark.parametrize("file", ["smg.toml", "demo.toml"])
def test_the_shipped_configurations_are_fine(file):
    assert run(["check-config", ROOT / "conf" / file]).returncode == 0


def plugin_dir(tmp_path, *files):
    place = tmp_path / "plugins"
    place.mkdir()
    for file in files:
        shutil.copy(file, place)
    return f"[plugins]\npaths = [{json.dumps(str(PLUGINS))}, {json.dumps(str(place))}]\n", place


def test_a_text_file_named_so_is_refused(tmp_path):
    config, place = plugin_dir(tmp_path)
    (place / "notes.so").write_text("not a library")
    lines = refusals(tmp_path, config)
    assert len(lines) == 1 and "notes.so" in lines[0] and "ELF" in lines[0]


def test_a_library_that_was_cut_short_is_refused(tmp_path):
    config, place = plugin_dir(tmp_path)
    whole = (PLUGINS / "random.so").read_bytes()
    (place / "half.so").write_bytes(whole[: len(whole) // 2])
    lines = refusals(tmp_path, config)
    assert len(lines) == 1 and "half.so" in lines[0]


MAJOR = """
#include "smg/plugin.h"
static const smg_library library = {SMG_PLUGIN_MAGIC, %d, %d, sizeof(smg_library), 1, {"x", 1}, 0, sizeof(smg_plugin)};
SMG_EXPORT const smg_library* smg_plugin_entry(void) { return &library; }
"""


@pytest.mark.parametrize("major, minor", [(7, 3), (0, 99)])
def test_a_library_of_another_abi_is_refused_with_both_numbers(tmp_path, major, minor):
    config, place = plugin_dir(tmp_path)
    source = tmp_path / "other.c"
    source.write_text(MAJOR % (major, minor))
    subprocess.run(["cc", "-shared", "-fPIC", "-fvisibility=hidden", "-I", ROOT / "sdk" / "include", source, "-o", place / "other.so"],
                   check=True)
    header = (ROOT / "sdk" / "include" / "smg" / "abi.h").read_text()
    own = ".".join(re.search(rf"SMG_ABI_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR"))
    lines = refusals(tmp_path, config)
    assert len(lines) == 1
    assert "other.so" in lines[0] and f"{major}.{minor}" in lines[0] and f"speaks {own}" in lines[0]


def test_two_libraries_with_the_same_plugin_are_refused(tmp_path):
    config, place = plugin_dir(tmp_path)
    copy = bytearray((PLUGINS / "random.so").read_bytes())
    (place / "copy.so").write_bytes(copy + b"\0")
    lines = refusals(tmp_path, config)
    assert len(lines) == 1 and "copy.so" in lines[0] and "random" in lines[0]


def test_a_port_in_use_is_a_clear_error(tmp_path):
    with Worker() as taken:
        done = run(["launch", "--port", str(taken.port), "--host", "127.0.0.1", "--prometheus-port", str(free_port()),
                    "--plugin-paths", str(PLUGINS)])
        assert done.returncode != 0
        assert f"127.0.0.1 port {taken.port}" in done.stdout


def test_flags_override_the_file(tmp_path):
    file = tmp_path / "smg.toml"
    file.write_text(P + "[server]\nport = 1234\n")
    assert "0.0.0.0:4321" in run(["check-config", file, "--port=4321"]).stdout


def test_help_names_every_flag_and_plugins_describe_their_options():
    text = run(["--help", "--plugin-paths", str(PLUGINS)]).stdout
    for flag in ("--worker-urls", "--policy", "--worker-overload-shed", "--disable-worker-overload-protection", "--cb-failure-threshold",
                 "--upstream-pool-idle-timeout-secs"):
        assert flag in text
    page = run(["plugins", "describe", "http", "--plugin-paths", str(PLUGINS)])
    assert page.returncode == 0 and "idle_timeout_secs" in page.stdout
    assert run(["plugins", "describe", "nobody", "--plugin-paths", str(PLUGINS)]).returncode == 2
