"""The configuration of a running gateway changes: what takes effect, what needs a restart, and that nothing in flight notices."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading

import pytest

from observe import Events, Stream, becomes, shown
from support import BUILD, DEADLINE, ENV, PLUGINS, SMG, SLOW, EngineSim, Gateway, Worker, chat, dial, free_port, wait_for

UNWATCHED = ("--no-watch-config",)


def answer(connection, request):
    connection.answer(b"{}")


def write(path, text):
    """As deployment tools do it: a new file takes the name."""
    fresh = pathlib.Path(f"{path}.new")
    fresh.write_text(text)
    os.rename(fresh, path)


def reload(running):
    status, headers, body = running.request("POST", "/config/reload")
    return status, headers, json.loads(body)


def applied(running, text):
    """Reloads with this text, which has to be right."""
    write(running.config, text)
    status, _, body = reload(running)
    assert status == 200, body
    return body


def refused(running, text):
    write(running.config, text)
    status, headers, body = reload(running)
    assert status == 400 and headers["x-smg-error-code"] == "bad_configuration", body
    return body["problems"]


def reloads(running, result):
    return running.metric("smg_config_reloads_total", result=result)


def generation(running):
    return running.metric("smg_config_generation")


def count(running, result, wanted):
    wait_for(lambda: reloads(running, result) >= wanted, f"{wanted} reloads with the result {result}")


def log(running):
    return running.log_path.read_text()


def worker_table(worker, rest=""):
    url = worker if isinstance(worker, str) else worker.url
    return f'[[worker]]\nurl = "{url}"\n{rest}'


def urls(running):
    return {worker["url"] for worker in json.loads(running.get("/workers")[2])["workers"]}


@contextlib.contextmanager
def fleet(count, extra="", args=UNWATCHED, waiting=None, **options):
    """A gateway, its configuration without a worker in it, and its workers, which report so many waiting requests."""
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(Worker(answer)) for _ in range(count)]
        for worker in workers:
            if waiting is not None:
                worker.report(waiting=waiting)
        running = stack.enter_context(Gateway(workers, extra=extra, args=args, **options))
        yield running, running.config.read_text().split("[[worker]]")[0], workers


# ---- What is answered.

def test_the_answer_says_what_is_in_force_and_what_waits_for_a_restart():
    with fleet(1) as (running, base, (worker,)):
        assert generation(running) == 1
        events = Events(running, "config_applied")
        text = base.replace("[metrics]", "max_payload_size = 1000\njob_queue_capacity = 7\n[metrics]")
        text += '[overload]\nwaiting_requests = 4\n[log]\njson = true\n[policy.cache_aware]\ncache_threshold = 0.9\n' + worker_table(worker)
        body = applied(running, text)
        assert body["generation"] == 2
        assert body["applied"] == ["server.max_payload_size", "overload.waiting_requests", "policy.cache_aware.cache_threshold"]
        assert body["restart_needed"] == ["server.job_queue_capacity", "log.json"]
        assert body["workers"] == {"added": [], "changed": [], "removed": []}
        assert body["unchanged"] > 60 and body["warnings"] == []
        again = applied(running, text)
        assert again["generation"] == 3 and again["applied"] == [] and again["restart_needed"] == body["restart_needed"]
        assert generation(running) == 3 and reloads(running, "applied") == 1 and reloads(running, "unchanged") == 1
        wait_for(lambda: [fields["generation"] for kind, fields in events.seen] == [2, 3], "both events")


def test_a_wrong_file_changes_nothing_and_all_that_is_wrong_is_told():
    with fleet(1) as (running, base, (worker,)):
        bad = base + "[overload]\nwaiting_requests = 0\ntoken_usage = 2.0\nshedd = true\n" + worker_table("http://127.0.0.1:1")
        problems = refused(running, bad)
        check = subprocess.run([SMG, "check-config", running.config, *UNWATCHED], capture_output=True, text=True, env=ENV)
        assert problems == check.stderr.splitlines() and len(problems) == 3
        assert refused(running, "[server\n")[0].startswith(f"{running.config}:1:")
        running.config.unlink()
        status, _, body = reload(running)
        assert status == 400 and body["problems"] == [f"{running.config}: No such file or directory"]
        assert urls(running) == {worker.url} and running.chat()[0] == 200
        assert generation(running) == 1 and reloads(running, "failed") == 3
        wait_for(lambda: "generation 1 stays in force" in log(running) and "shedd" in log(running), "the log lines")


def test_a_worker_that_cannot_be_opened_spoils_the_whole_reload():
    with fleet(1) as (running, base, (worker,)):
        with Worker(answer) as other:
            text = base + "[overload]\nshed = true\n" + worker_table(worker) + worker_table(other)
            problems = refused(running, text + worker_table("http://127.0.0.1:1", 'runtime = "external"\n'))
            assert len(problems) == 1 and "http://127.0.0.1:1" in problems[0]
            assert urls(running) == {worker.url}
            body = applied(running, text)
            assert body["applied"] == ["overload.shed"] and body["workers"]["added"] == [other.url]


def test_without_a_file_there_is_nothing_to_reload():
    port, metrics = free_port(), free_port()
    process = subprocess.Popen([SMG, "launch", "--host", "127.0.0.1", "--port", str(port), "--prometheus-host", "127.0.0.1",
                                "--prometheus-port", str(metrics), "--plugin-paths", str(PLUGINS), "--shutdown-grace-period-secs", "1"],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV)
    try:
        def listens():
            with contextlib.suppress(OSError):
                dial(port).close()
                return True
        wait_for(listens, "the gateway to listen")
        process.send_signal(signal.SIGHUP)
        view = Gateway.__new__(Gateway)
        view.port = port
        status, headers, body = reload(view)
        assert status == 409 and headers["x-smg-error-code"] == "no_configuration_file"
        assert "without --config" in body["error"]["message"]
    finally:
        process.terminate()
        assert process.wait(timeout=DEADLINE) == 0
        process.stdout.close()


def test_flags_go_on_overriding_the_file():
    with fleet(1, args=(*UNWATCHED, "--worker-overload-waiting-requests", "3")) as (running, base, (worker,)):
        body = applied(running, base + "[overload]\nwaiting_requests = 5\nshed = true\n" + worker_table(worker))
        assert body["applied"] == ["overload.shed"]


# ---- What triggers it.

def test_a_signal_reloads():
    with fleet(1) as (running, base, (worker,)):
        write(running.config, base + "[overload]\nshed = true\n" + worker_table(worker))
        running.process.send_signal(signal.SIGHUP)
        count(running, "applied", 1)
        assert generation(running) == 2
        running.config.write_text("nonsense")
        running.process.send_signal(signal.SIGHUP)
        count(running, "failed", 1)
        assert generation(running) == 2 and running.process.poll() is None
        wait_for(lambda: "configuration not reloaded (SIGHUP)" in log(running), "the log line")


def in_place(running, text):
    running.config.write_text(text)


def by_rename(running, text):
    write(running.config, text)


def by_link(running, text):
    """As a mounted volume does it: the file is reached by a link to a directory that is exchanged."""
    link = running.config.parent / "now"
    number = len(list(running.config.parent.glob("version-*")))
    version = running.config.parent / f"version-{number}"
    version.mkdir()
    (version / "smg.toml").write_text(text)
    fresh = running.config.parent / "fresh"
    fresh.symlink_to(version)
    os.rename(fresh, link)
    if not running.config.is_symlink():
        running.config.unlink()
        running.config.symlink_to(link / "smg.toml")


@pytest.mark.parametrize("change", [in_place, by_rename, by_link])
def test_a_changed_file_is_picked_up_once(change):
    with fleet(1, args=()) as (running, base, (worker,)):
        for number in range(2, 5):
            change(running, base + f"[overload]\nwaiting_requests = {number}\n" + worker_table(worker))
            count(running, "applied", number - 1)
            assert generation(running) == number
        change(running, base + "[overload]\nwaiting_request = 9\n" + worker_table(worker))
        count(running, "failed", 1)
        wait_for(lambda: "did you mean waiting_requests?" in log(running), "the log line")
        # The next one is seen as well, and none was seen twice.
        change(running, base + "[overload]\nwaiting_requests = 5\n" + worker_table(worker))
        count(running, "applied", 4)
        assert generation(running) == 5 and reloads(running, "failed") == 1 and reloads(running, "unchanged") == 0


def test_what_an_operator_has_reloaded_the_watch_leaves_alone():
    with fleet(1, args=()) as (running, base, (worker,)):
        text = base + worker_table(worker)
        applied(running, text + "# a comment\n")
        seen = generation(running)
        os.utime(running.config)
        # A later change tells that the watch has looked past the first two.
        in_place(running, text + "[retry]\nmax_retries = 2\n")
        count(running, "applied", 1)
        assert generation(running) == seen + 1 == 3


def test_the_watch_can_be_switched_off_and_on():
    with fleet(1, args=()) as (running, base, (worker,)):
        unwatched = base.replace("[metrics]", "watch_config = false\n[metrics]")
        in_place(running, unwatched + worker_table(worker))
        count(running, "applied", 1)
        in_place(running, base + worker_table(worker))
        assert reload(running)[2]["applied"] == ["server.watch_config"]
        in_place(running, base + "[retry]\nmax_retries = 2\n" + worker_table(worker))
        count(running, "applied", 3)


def test_requests_at_once_are_served_one_after_the_other():
    with fleet(1) as (running, base, (worker,)):
        write(running.config, base + "[overload]\nshed = true\n" + worker_table(worker))
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(reload(running))) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [status for status, _, _ in answers] == [200] * 12
        assert sorted(body["generation"] for _, _, body in answers) == list(range(2, 14))
        assert sum(body["applied"] == ["overload.shed"] for _, _, body in answers) == 1


# ---- What takes effect.

def test_another_ceiling_changes_the_verdict_without_another_report():
    # Polls are so far apart that none comes in between.
    with fleet(2, extra="[load_monitor]\ninterval_secs = 600\n", waiting=5) as (running, base, (one, two)):
        # A ceiling of its own goes before the gateway's.
        workers = worker_table(one) + worker_table(two, "priority = 9\noverload = { waiting_requests = 50 }\n")
        applied(running, base + workers)
        wait_for(lambda: shown(running, two.url)["priority"] == 9, "the second worker to be changed")
        base = base.replace("interval_secs = 600", "interval_secs = 601")
        body = applied(running, base + "[overload]\nwaiting_requests = 4\n" + workers)
        assert body["applied"] == ["overload.waiting_requests", "load_monitor.interval_secs"]
        # Another interval polls at once.
        becomes(running, "smg_worker_overloaded", 1, worker=one.url)
        becomes(running, "smg_engine_waiting_requests", 5, worker=two.url)
        polls = len(one.gets)
        for rules, out in (("waiting_requests = 6", 0), ("waiting_requests = 5", 1), ("waiting_requests = 5\nprotection = false", 0)):
            applied(running, f"{base}[overload]\n{rules}\n{workers}")
            assert running.metric("smg_worker_overloaded", worker=one.url) == out
            assert running.metric("smg_worker_overloaded", worker=two.url) == 0
        assert len(one.gets) == polls


def test_shedding_begins_with_the_next_request():
    with fleet(1, extra="[load_monitor]\ninterval_secs = 1\n", waiting=20) as (running, base, (worker,)):
        becomes(running, "smg_workers_overloaded", 1, model="m")
        assert running.chat()[0] == 200
        applied(running, base + "[overload]\nshed = true\n" + worker_table(worker))
        for _ in range(8):
            assert running.chat()[0] == 503
        applied(running, base + worker_table(worker))
        for _ in range(8):
            assert running.chat()[0] == 200


def test_retries_are_those_of_the_present_configuration():
    with fleet(1, extra="[retry]\nmax_retries = 1\n") as (running, base, (worker,)):
        worker.script = lambda connection, request: connection.answer(b"", "503 Service Unavailable")
        assert running.chat()[0] == 503 and len(worker.requests) == 1
        applied(running, base.replace("max_retries = 1", "max_retries = 3\ninitial_backoff_ms = 1") + worker_table(worker))
        assert running.chat()[0] == 503 and len(worker.requests) == 4


def test_breakers_go_by_the_present_limits():
    extra = "[retry]\ndisabled = true\n[circuit_breaker]\nfailure_threshold = 100\n"
    with fleet(1, extra=extra) as (running, base, (worker,)):
        worker.script = lambda connection, request: connection.answer(b"", "500 Internal Server Error")
        assert [running.chat()[0] for _ in range(3)] == [500] * 3
        applied(running, base.replace("failure_threshold = 100", "failure_threshold = 4") + worker_table(worker))
        assert running.chat()[0] == 500
        becomes(running, "smg_worker_cb_state", 1, worker=worker.url)
        applied(running, base.replace("failure_threshold = 100", "disabled = true") + worker_table(worker))
        becomes(running, "smg_worker_cb_state", 0, worker=worker.url)
        assert [running.chat()[0] for _ in range(6)] == [500] * 6


def test_probes_come_at_the_present_interval_and_path():
    extra = "[health_check]\ncheck_interval_secs = 600\nfailure_threshold = 1\n"
    with fleet(1, extra=extra) as (running, base, (worker,)):
        wait_for(lambda: len(worker.probes) >= 2, "registration and the first probe")
        seen = len(worker.probes)
        applied(running, base.replace("interval_secs = 600", 'interval_secs = 1\nendpoint = "/up/health"') + worker_table(worker))
        wait_for(lambda: any(probe.target == "/up/health" for probe in worker.probes[seen:]), "a probe of the other path")
        worker.healthy = False
        becomes(running, "smg_worker_health", 0, worker=worker.url)
        # Nobody probes any more, so nobody is kept out by a probe.
        applied(running, base.replace("interval_secs = 600", "interval_secs = 600\ndisable_health_check = true") + worker_table(worker))
        becomes(running, "smg_worker_health", 1, worker=worker.url)
        applied(running, base + worker_table(worker))
        becomes(running, "smg_worker_health", 0, worker=worker.url)


def test_the_log_level_changes():
    with fleet(1, extra='[log]\nlevel = "info"\n[circuit_breaker]\nfailure_threshold = 1\n') as (running, base, (worker,)):
        applied(running, base.replace('"info"', '"error"') + worker_table(worker))
        applied(running, base.replace('"info"', '"error"').replace("failure_threshold = 1", "failure_threshold = 2") + worker_table(worker))
        body = applied(running, base + worker_table(worker))
        assert body["generation"] == 4
        wait_for(lambda: "generation 4" in log(running), "the line of the last reload")
        assert "generation 3" not in log(running)


def test_limits_and_headers_of_the_listener_change_for_open_connections_too():
    with fleet(1) as (running, base, (worker,)):
        open_one = dial(running.port)
        def ask():
            open_one.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nOrigin: http://a\r\nx-mine: 7\r\n"
                             b"Content-Length: 82\r\n\r\n" + b'{"model":"m","messages":[{"role":"user","content":"' + b"x" * 27 + b'"}]}')
            data = b""
            while b"\r\n\r\n" not in data:
                data += open_one.recv(1 << 16)
            return data.split(b"\r\n\r\n")[0].lower()
        first = ask()
        assert first.startswith(b"http/1.1 200") and b"access-control-allow-origin: *" in first
        applied(running, base.replace("[metrics]", 'cors_allowed_origins = ["http://b"]\nrequest_id_headers = ["x-mine"]\n[metrics]') + worker_table(worker))
        second = ask()
        assert b"access-control-allow-origin" not in second and b"x-request-id: 7" in second
        applied(running, base.replace("[metrics]", "max_payload_size = 81\n[metrics]") + worker_table(worker))
        assert ask().startswith(b"http/1.1 413")
        open_one.close()


def test_the_longest_exchange_is_that_of_its_beginning():
    def slow(connection, request):
        if request.json().get("stream"):
            connection.start_stream()
            connection.event("first")
        connection.wait_closed(30 * SLOW)
    with fleet(1) as (running, base, (worker,)):
        worker.script = slow
        stream = Stream(running.port)
        wait_for(lambda: stream.data, "the stream to begin")
        applied(running, base.replace("[metrics]", "request_timeout_secs = 1\n[metrics]") + "[retry]\ndisabled = true\n" + worker_table(worker))
        assert running.chat()[0] == 504
        assert stream.end is None
        for sock in list(worker.open):
            sock.shutdown(2)
        assert stream.result() != "complete"


# ---- Workers.

def test_workers_come_change_and_go_while_their_streams_run():
    with EngineSim(3, "--model", "m") as engines:
        one, two, three = engines.urls
        extra = "[health_check]\ndrain_settle_secs = 1\n"
        with Gateway([one, two], extra=extra, args=UNWATCHED) as running:
            base = running.config.read_text().split("[[worker]]")[0]
            streams = [Stream(running.port, max_tokens=100, sim_interval_ms=20) for _ in range(6)]
            for stream in streams:
                stream.flows()
            ids = {url: shown(running, url)["id"] for url in (one, two)}
            body = applied(running, base + worker_table(two, "priority = 7\n") + worker_table(three))
            assert body["workers"] == {"added": [three], "changed": [two], "removed": [one]}
            wait_for(lambda: urls(running) == {two, three}, "the workers to be others", 3 * DEADLINE)
            wait_for(lambda: shown(running, two)["priority"] == 7, "the change")
            assert shown(running, two)["id"] == ids[two]
            assert running.chat(max_tokens=1)[0] == 200
            for stream in streams:
                assert stream.result() == "complete" and stream.data.endswith(b"data: [DONE]\n\n")


def test_a_worker_of_the_api_stays():
    with fleet(1) as (running, base, (worker,)), Worker(answer) as other:
        assert running.post("/workers", {"url": other.url})[0] == 202
        wait_for(lambda: urls(running) == {worker.url, other.url}, "both workers")
        body = applied(running, base + worker_table(worker, "priority = 3\n"))
        assert body["workers"] == {"added": [], "changed": [worker.url], "removed": []}
        wait_for(lambda: shown(running, worker.url)["priority"] == 3, "the change")
        # The file may take it over, with the id that it has; then it goes with the file.
        before = shown(running, other.url)["id"]
        applied(running, base + worker_table(other, "priority = 4\n") + worker_table(worker, "priority = 3\n"))
        wait_for(lambda: shown(running, other.url)["priority"] == 4, "the change")
        assert shown(running, other.url)["id"] == before
        applied(running, base + "[health_check]\ndrain_settle_secs = 0\n" + worker_table(worker, "priority = 3\n"))
        wait_for(lambda: urls(running) == {worker.url}, "the worker to be gone")


def test_a_worker_that_comes_back_while_it_drains_stays():
    with fleet(2, extra="[health_check]\ndrain_settle_secs = 600\n") as (running, base, (one, two)):
        applied(running, base + worker_table(one))
        wait_for(lambda: shown(running, two.url)["status"] == "draining", "the worker to drain")
        body = applied(running, base + worker_table(one) + worker_table(two, "priority = 9\n"))
        assert body["workers"]["added"] == [two.url]
        wait_for(lambda: shown(running, two.url)["status"] == "ready" and shown(running, two.url)["priority"] == 9, "the worker to be back")
        assert {running.chat()[1]["x-smg-routed-worker-id"] for _ in range(4)} == {one.url, two.url}


def test_a_worker_that_is_not_up_yet_is_forgotten_or_changed():
    with fleet(1) as (running, base, (worker,)), Worker(answer) as late:
        late.healthy = False
        waiting = f"http://127.0.0.1:{free_port()}"
        applied(running, base + worker_table(worker) + worker_table(late) + worker_table(waiting))
        wait_for(lambda: late.probes, "a look at the worker")
        body = applied(running, base + worker_table(worker) + worker_table(late, "priority = 2\n"))
        assert body["workers"] == {"added": [], "changed": [late.url], "removed": [waiting]}
        late.healthy = True
        wait_for(lambda: shown(running, late.url), "the worker to be there")
        assert shown(running, late.url)["priority"] == 2


def test_the_last_of_several_changes_wins():
    with fleet(1) as (running, base, (worker,)):
        for priority in range(1, 21):
            applied(running, base + worker_table(worker, f"priority = {priority}\n"))
        wait_for(lambda: shown(running, worker.url)["priority"] == 20, "the last change")
        assert "was changed or removed" not in log(running)


# ---- Nothing in flight notices.

def test_two_hundred_reloads_under_streams_fail_nobody():
    with EngineSim(3, "--model", "m") as engines:
        one, two, three = engines.urls
        with Gateway([one, two, three], args=UNWATCHED) as running:
            base = running.config.read_text().split("[[worker]]")[0]
            over, failures, done = threading.Event(), [], [0]

            def stream():
                while not over.is_set():
                    each = Stream(running.port, max_tokens=30, sim_interval_ms=5)
                    if each.result() != "complete" or not each.data.endswith(b"data: [DONE]\n\n"):
                        failures.append(each.end)
                    done[0] += 1

            def small():
                while not over.is_set():
                    status = running.chat(max_tokens=1)[0]
                    if status != 200:
                        failures.append(status)
                    done[0] += 1
            threads = [threading.Thread(target=work) for work in [stream] * 12 + [small] * 2]
            for thread in threads:
                thread.start()
            for number in range(200):
                text = base + f"[overload]\nwaiting_requests = {100 + number % 7}\n[retry]\nmax_retries = {2 + number % 3}\n"
                text += f"[load_monitor]\ninterval_secs = {1 + number % 5}\n[health_check]\ncheck_interval_secs = {1 + number % 5}\ndrain_settle_secs = 0\n"
                text += worker_table(one) + worker_table(two, f"priority = {number}\n") + (worker_table(three) if number % 4 else "")
                body = applied(running, text)
                assert body["generation"] == number + 2
            over.set()
            for thread in threads:
                thread.join()
            assert not failures and done[0] > 100, (failures, done)
            becomes(running, "smg_http_connections_active", 0)


# ---- Policies and options of plugins.

def routed(running, headers=None):
    status, answered, _ = running.post("/v1/chat/completions", chat(), headers)
    assert status == 200
    return answered["x-smg-routed-worker-id"]


def test_another_policy_chooses_from_the_next_request_on():
    with fleet(2, policy="random") as (running, base, workers):
        text = base + "".join(worker_table(worker) for worker in workers)
        body = applied(running, text.replace('name = "random"', 'name = "passthrough"'))
        assert body["applied"] == ["policy.name"] and body["restart_needed"] == []
        assert len({routed(running) for _ in range(11)}) == 1
        assert running.metric("smg_worker_selection_total", policy="passthrough") == 11


def test_an_option_that_is_out_of_its_range_changes_nothing():
    with fleet(1, policy="manual") as (running, base, (worker,)):
        text = base + worker_table(worker)
        problems = refused(running, text + '[overload]\nwaiting_requests = 3\n[policy.manual]\nassignment_mode = "nonsense"\n')
        assert len(problems) == 1 and "assignment_mode" in problems[0]
        assert applied(running, text)["applied"] == []


def test_an_option_moves_to_a_new_instance_that_knows_what_the_old_one_knew():
    with fleet(3, policy="manual") as (running, base, workers):
        text = base + "".join(worker_table(worker) for worker in workers)
        keys = [{"x-smg-routing-key": f"key-{number}"} for number in range(12)]
        before = [routed(running, key) for key in keys]
        body = applied(running, text + "[policy.manual]\nmax_idle_secs = 77\n")
        assert body["applied"] == ["policy.manual.max_idle_secs"]
        assert [routed(running, key) for key in keys] == before


def test_a_refused_file_is_tried_again_when_the_plugin_comes_that_it_asks_for(tmp_path):
    place = tmp_path / "plugins"
    place.mkdir()
    with fleet(1, plugins=[place]) as (running, base, (worker,)):
        text = base.replace('name = "round_robin"', 'name = "versioned"') + worker_table(worker)
        assert "no policy is named 'versioned'" in refused(running, text)[0]
        shutil.copy(BUILD / "lib" / "smg" / "reload" / "versioned-0-1.so", place / "versioned.so")
        count(running, "applied", 1)
        assert routed(running) and running.metric("smg_worker_selection_total", policy="versioned") == 1
