"""The dashboard that ships: well-formed, about metrics that there are, and showing something where something happens."""
import itertools
import json
import re

import pytest

from observe import shown
from support import DEADLINE, ROOT, Gateway, Worker, wait_for
from test_prometheus import prometheus, promtool

DASHBOARD = json.loads((ROOT / "conf/grafana/smg-overview.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
VARIABLES = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
# What Grafana puts in for the variables when everything is chosen.
CHOSEN = {"model": ".*", "worker": ".*", "waiting_ceiling": "8", "usage_ceiling": "0.8"}

# As the page on overload protection documents them.
DOCUMENTED = [
    "smg_workers_overloaded",
    "rate(smg_worker_overload_fallback_total[5m])",
    "sum by (stage) (rate(smg_worker_overload_shed_total[5m]))",
    "avg by (worker, model) (smg_engine_token_usage >= 0)",
    "sum by (worker, model) (smg_engine_waiting_requests >= 0)",
]


def queries():
    return [(panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]]


def filled(expression):
    return re.sub(r"\$(\w+)", lambda name: CHOSEN[name[1]], expression)


def families():
    """name -> labels, as the header declares them; histograms under the names of their series."""
    text = "".join(path.read_text() for path in sorted((ROOT / "host/metrics").glob("families*.hpp")))
    found = {}
    for name, kind, rest in re.findall(r'FamilyDescriptor \w+\{\s*"(smg_\w+)",\s*MetricType::k(\w+),(.*?)\};', text, re.S):
        labels = set(re.findall(r'"(\w+)"', rest[rest.rfind("{"):])) if "{" in rest else set()
        for suffix in ("_bucket", "_sum", "_count") if kind == "Histogram" else ("",):
            found[name + suffix] = labels | ({"le"} if suffix == "_bucket" else set())
    return found


def test_panels_have_their_own_number_and_place_and_the_chosen_data_source():
    everything = DASHBOARD["panels"]
    assert len({panel["id"] for panel in everything}) == len(everything)
    for one, other in itertools.combinations([panel["gridPos"] for panel in everything], 2):
        assert (one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
                or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]), (one, other)
        assert one["x"] + one["w"] <= 24
    assert VARIABLES["datasource"]["type"] == "datasource" and {"model", "worker"} <= set(VARIABLES)
    for panel in PANELS:
        for owner in (panel, *panel["targets"]):
            assert owner["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, panel["title"]
        assert panel["title"] and panel["description"] and panel["targets"]
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


def test_every_metric_and_label_of_a_query_is_one_that_the_gateway_has():
    known = families()
    assert len(known) > 40
    variables = [(name, variable["definition"]) for name, variable in VARIABLES.items() if variable["type"] == "query"]
    for title, expression in queries() + variables:
        assert re.findall(r"smg_\w+", expression) or expression.startswith("vector("), title
        for name, matchers in re.findall(r"(smg_\w+)(?:\{(.*?)\})?", expression):
            assert name in known, f"{title}: {name}"
            assert set(re.findall(r'(\w+)(?:=|!|=~)"', matchers)) <= known[name], f"{title}: {expression}"
        names = re.findall(r"\$\{?(\w+)", expression)
        assert set(names) <= set(VARIABLES), f"{title}: {expression}"
    for name, definition in variables:
        metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", definition).groups()
        assert label == name and label in known[metric]


def test_every_query_parses(tmp_path):
    rules = [{"record": f"q{number}", "expr": filled(expression)} for number, (_, expression) in enumerate(queries())]
    # JSON is YAML.
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool("check", "rules", tmp_path / "rules.yml")


def test_documented_queries_are_used_as_they_are():
    """Apart from the choice of models and workers."""
    plain = [re.sub(r'\{(?:(?:model|worker)=~"\$\w+",?)+\}', "", expression) for _, expression in queries()]
    for documented in DOCUMENTED:
        assert documented in plain


def test_panels_show_something_where_something_happens(tmp_path):
    def script(connection, request):
        broken = request.json()["messages"][0]["content"] == "break"
        connection.answer(b"{}", "500 Internal Server Error" if broken else "200 OK")

    one, two = Worker(script), Worker(script)
    for worker, waiting in ((one, 20), (two, 1)):
        worker.report(waiting=waiting, usage=0.5, gen_throughput=100.0)
    extra = "[load_monitor]\ninterval_secs = 1\n[circuit_breaker]\nfailure_threshold = 1000\n[retry]\nmax_retries = 2\n"
    with one, two, Gateway([one, two], extra=extra) as running:
        wait_for(lambda: running.metric("smg_workers_overloaded", model="m") == 1, "the verdict")
        with prometheus(tmp_path, running.metrics_port) as query:
            empty = dict.fromkeys((title, filled(expression)) for title, expression in queries())

            def all_answer():
                running.chat()
                running.chat(content="break")
                running.chat(model="nobody serves it")
                for title, expression in list(empty):
                    if query(expression):
                        del empty[title, expression]
                return not empty
            try:
                wait_for(all_answer, "", 3 * DEADLINE)
            except AssertionError:
                pytest.fail("no data: " + "; ".join(f"{title}: {expression}" for title, expression in empty))

            def becomes(title, number, expected, **labels):
                panel = next(panel for panel in PANELS if panel["title"] == title)
                expression = filled(panel["targets"][number]["expr"])

                def there():
                    found = [value for key, value in query(expression).items() if set(labels.items()) <= set(key)]
                    return found == pytest.approx(expected)
                wait_for(there, f"{title} to be {expected}: {expression}", 3 * DEADLINE)

            becomes("Workers ready", 0, [2])
            becomes("Over a ceiling", 0, [1])
            becomes("Workers now", 2, [1], worker=one.url)
            becomes("Workers now", 2, [0], worker=two.url)
            becomes("Waiting requests", 0, [20], worker=one.url, model="m")
            becomes("KV cache in use", 0, [0.5], worker=two.url)
            worker_id = shown(running, one.url)["id"]
            assert running.request("DELETE", f"/workers/{worker_id}")[0] == 202
            becomes("Workers ready", 0, [1])
            # A series cannot be taken away; the dashboard leaves out who has been removed.
            for column in range(len(next(panel for panel in PANELS if panel["title"] == "Workers now")["targets"])):
                becomes("Workers now", column, [], worker=one.url)
            becomes("Waiting requests", 0, [], worker=one.url)
