"""The shipped rules with promtool, and the documented queries with a Prometheus that scrapes the gateway."""
import contextlib
import json
import subprocess
import urllib.parse
import urllib.request

import pytest

from support import DEADLINE, ROOT, Gateway, Worker, free_port, wait_for


def promtool(*arguments):
    result = subprocess.run(["promtool", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_rules_are_well_formed():
    assert "8 rules found" in promtool("check", "rules", "conf/prometheus/smg-rules.yml")


def test_the_rules_fire_when_they_should_and_not_else():
    assert "SUCCESS" in promtool("test", "rules", "tests/prometheus/smg-rules-test.yml")


@contextlib.contextmanager
def prometheus(directory, metrics_port):
    config = directory / "prometheus.yml"
    config.write_text(f"""
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: ["{ROOT}/conf/prometheus/smg-rules.yml"]
scrape_configs:
  - job_name: smg
    static_configs: [{{targets: ["127.0.0.1:{metrics_port}"]}}]
""")
    port = free_port()
    with open(directory / "log", "w") as log:
        process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={directory}/data",
             f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
    try:
        yield lambda query: ask(port, query)
    finally:
        process.terminate()
        process.wait(DEADLINE)


def ask(port, query):
    """label values -> value, or {} while there is no answer."""
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
    with contextlib.suppress(OSError):
        with urllib.request.urlopen(url, timeout=5) as answer:
            result = json.load(answer)["data"]["result"]
        return {tuple(sorted(one["metric"].items())): float(one["value"][1]) for one in result}
    return {}


def test_a_scrape_answers_the_documented_queries(tmp_path):
    one, two = Worker(), Worker()
    one.report(waiting=20, usage=0.95)
    two.report(waiting=1, usage=0.25)
    with one, two, Gateway([one, two], extra="[load_monitor]\ninterval_secs = 1\n") as running:
        wait_for(lambda: running.metric("smg_workers_overloaded", model="m") == 1, "the verdict")
        with prometheus(tmp_path, running.metrics_port) as query:
            def of(text, **labels):
                wanted = tuple(sorted(labels.items()))
                return lambda: next((value for key, value in query(text).items() if set(wanted) <= set(key)), None)

            def becomes(text, expected, **labels):
                wait_for(lambda: of(text, **labels)() == pytest.approx(expected), f"{text} to be {expected}", 3 * DEADLINE)

            becomes("smg_workers_overloaded", 1, model="m")
            becomes("avg by (worker, model) (smg_engine_token_usage >= 0)", 0.95, worker=one.url)
            becomes("sum by (worker, model) (smg_engine_waiting_requests >= 0)", 1, worker=two.url)
            becomes("sum by (stage) (rate(smg_worker_overload_shed_total[5m]))", 0, stage="selection")
            two.report(waiting=20)
            wait_for(lambda: running.metric("smg_workers_overloaded", model="m") == 2, "both to be over")

            def steered():
                running.chat()
                return (of("rate(smg_worker_overload_fallback_total[5m])", stage="selection")() or 0) > 0

            wait_for(steered, "the rate of steered requests", 3 * DEADLINE)
