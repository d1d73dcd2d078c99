"""Suite `policies`: routing policies against each other, on simulated engines whose prefix caches hold a part of the prompts.

Every policy gets the same requests at the same times, on a fresh gateway and fresh engines. How much of the prompts the
engines had in their caches, how long the first token took, and how evenly requests and work were spread."""

import asyncio
import json
import subprocess
import time
from contextlib import ExitStack
from dataclasses import replace
from statistics import mean, median

from chat_client import Client
from fleet_suite import machine_busy
from gateway import Gateway
from processes import BenchError, Process, free_ports, get, wait_until
from streams_suite import percentile
from workloads import MODEL, WORKLOADS, possible_hit_rate

ENGINES = 6
ENGINE = ["--max-running", 32, "--prefill-rate", 20000, "--decode-ms", 25, "--decode-growth", 0.01]
ENGINE += ["--kv-blocks", 3750, "--block-size", 16, "--journal", 0, "--quiet", "--model", MODEL]
# A ceiling would take an engine out of routing before a policy shows what it does with it. Times are shorter than those of
# real engines, so loads are asked for more often.
ARGUMENTS = ["--log-level", "error", "--disable-worker-overload-protection", "--load-monitor-interval", 1]
ARGUMENTS += ["--worker-startup-check-interval", 1, "--shutdown-grace-period-secs", 0]
LOOK = 0.1  # seconds between looks at the engines
SPREAD_LIMIT = 2
LATE_LIMIT, OTHERS_LIMIT = 0.01, 0.5  # seconds, CPUs: beyond them times tell of the machine as well
MAY_PILE = {"passthrough", "manual", "consistent_hashing", "prefix_hash"}
COLUMNS = [  # key of the figure, head, factor, decimals
    ("hit_rate", "cache hits (%)", 100, 1),
    ("ttft_mean", "TTFT mean (ms)", 1e3, 0),
    ("ttft_p99", "TTFT p99 (ms)", 1e3, 0),
    ("request_spread", "requests max/mean", 1, 2),
    ("load_spread", "load max/mean", 1, 2),
    ("load_mean", "load mean", 1, 1),
    ("failed", "failed", 1, 0),
]


def built_policies(args):
    listed = subprocess.run([args.smg or args.build / "bin/smg", "plugins", "list"], capture_output=True, text=True)
    if listed.returncode != 0:
        raise BenchError(f"smg plugins list: {listed.stderr}")
    plugins = [line.split()[:2] for line in listed.stdout.splitlines() if line.strip()]
    return [name for kind, name in plugins if kind == "policy"]


def chosen_policies(args):
    built = built_policies(args)
    if not args.policies:
        return [name for name in built if name != "passthrough"]  # it knows one worker only
    names = args.policies.split(",")
    if unknown := [name for name in names if name not in built]:
        raise BenchError(f"no policy {', '.join(unknown)}; built are {', '.join(built)}")
    return names


def chosen_workloads(args):
    names = args.only.split(",") if args.only else [workload.key for workload in WORKLOADS]
    if unknown := set(names) - {workload.key for workload in WORKLOADS}:
        raise BenchError(f"no workload {', '.join(unknown)}; there are {', '.join(w.key for w in WORKLOADS)}")
    chosen = [workload for workload in WORKLOADS if workload.key in names]
    if args.quick:
        chosen = [replace(workload, window=workload.window / 2) for workload in chosen]
    return chosen


class Engines:
    def __init__(self, args, directory):
        first = free_ports(ENGINES + 1)
        self.urls = [f"http://127.0.0.1:{first + i}" for i in range(ENGINES)]
        self.control = f"http://127.0.0.1:{first + ENGINES}"
        command = [args.build / "bin/smg-engine-sim", "--port", first, "--count", ENGINES]
        command += ["--control-port", first + ENGINES, *ENGINE]
        self.process = Process("smg-engine-sim", command, directory / "engines.log")

    def __enter__(self):
        wait_until(self.process, "answering", lambda: get(self.control + "/state")[0] == 200)
        return self

    def __exit__(self, *_):
        self.process.stop()

    async def state(self):
        status, body = await asyncio.to_thread(get, self.control + "/state")
        if status != 200:
            raise BenchError(f"smg-engine-sim does not tell its state:\n{self.process.tail()}")
        return json.loads(body)["engines"]


async def replay(client, engines, workload):
    """Sends the requests; the engines' states at the edges of the window, and their running and waiting requests in it."""
    loop = asyncio.get_running_loop()
    sending = asyncio.create_task(client.run())
    await asyncio.sleep(workload.warmup)  # what comes before the window is not measured
    before, loads = await engines.state(), []
    end = loop.time() + workload.window
    while loop.time() < end and not sending.done():
        loads.append([engine["running"] + engine["waiting"] for engine in await engines.state()])
        await asyncio.sleep(LOOK)  # the sampling interval
    await sending
    return before, await engines.state(), loads


def spread(values):
    return max(values) / mean(values) if any(values) else 0.0


def load_spread(samples):
    """The busiest engine of each look against the mean of the engines, both averaged over all looks."""
    return mean(map(max, samples)) / max(mean(map(mean, samples)), 1e-9)


def growth(before, after, field):
    return [new[field] - old[field] for old, new in zip(before, after)]


def figures(client, workload, before, after, loads):
    measured = [outcome for outcome in client.outcomes if outcome.due >= workload.warmup]
    ttft = [outcome.first - outcome.due for outcome in measured if outcome.first is not None]
    if not ttft:
        raise BenchError(f"{workload.key}: no answer; {client.outcomes[0].problem if client.outcomes else 'no request'}")
    requests = growth(before, after, "requests")
    problems = {}
    for outcome in client.outcomes:
        if outcome.problem:
            problems[outcome.problem] = problems.get(outcome.problem, 0) + 1
    return {
        "hit_rate": sum(growth(before, after, "hit_tokens")) / max(sum(growth(before, after, "queried_tokens")), 1),
        "ttft_mean": mean(ttft),
        "ttft_p50": median(ttft),
        "ttft_p99": percentile(ttft, 0.99),
        "request_spread": spread(requests),
        "load_spread": load_spread(loads),
        "load_mean": mean(map(mean, loads)),
        "failed": sum(problems.values()),
        "problems": problems,
        "requests": requests,
        "preemptions": sum(growth(before, after, "preemptions")),
        "late_p99": percentile([outcome.sent - outcome.due for outcome in measured], 0.99),
    }


def one_run(args, directory, workload, requests, policy):
    with ExitStack() as stack:
        engines = stack.enter_context(Engines(args, directory))
        sections = f'[policy]\nname = "{policy}"\n'
        gateway = stack.enter_context(Gateway(args, directory / "gateway", engines.urls, ARGUMENTS, sections))
        gateway.wait_ready(ENGINES)
        client = Client(gateway.port, requests)
        used = {
            "cpu_client": time.process_time,
            "cpu_gateway": gateway.cpu_seconds,
            "cpu_engines": engines.process.cpu_seconds,
            "cpu_machine": machine_busy,
        }
        began, so_far = time.monotonic(), {key: look() for key, look in used.items()}
        seen = asyncio.run(replay(client, engines, workload))
        took = time.monotonic() - began
        gateway.process.check()
        return figures(client, workload, *seen) | {key: (look() - so_far[key]) / took for key, look in used.items()}


def cell(values, factor, decimals):
    low, middle, high = (f"{f(values) * factor:.{decimals}f}" for f in (min, median, max))
    return middle if low == high else f"{middle} ({low} - {high})"


def print_table(workload, runs, possible):
    rounds = runs[next(iter(runs))]
    rate = median(sum(one["requests"]) for one in rounds) / workload.window
    print(
        f"\n{workload.key}: {workload.title}; {rate:.0f} requests/s for {workload.window:g} s; "
        f"cache hits possible: {cell(possible, 100, 1)} %"
    )
    rows = [["policy", *(head for _, head, _, _ in COLUMNS)]]
    for policy, rounds in runs.items():
        cells = [cell([one[key] for one in rounds], factor, decimals) for key, _, factor, decimals in COLUMNS]
        rows.append([policy, *cells])
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join([row[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(row[1:], widths[1:]))]))


def complaints(workload, runs):
    for policy, rounds in runs.items():
        problems = {}
        for one in rounds:
            for problem, times in one["problems"].items():
                problems[problem] = problems.get(problem, 0) + times
        if problems:
            yield f"{workload.key}, {policy}: requests failed: {problems}"
        most = median(one["request_spread"] for one in rounds)
        if workload.must_spread and policy not in MAY_PILE and most > SPREAD_LIMIT:
            yield f"{workload.key}, {policy}: one engine got {most:.1f} times the mean of the requests"


def print_cost(results):
    runs = [one for by_policy in results.values() for rounds in by_policy.values() for one in rounds]
    late = max(one["late_p99"] for one in runs)
    own = ("cpu_client", "cpu_gateway", "cpu_engines")
    shares = [max(one[key] for one in runs) * 100 for key in own]
    others = max(one["cpu_machine"] - sum(one[key] for key in own) for one in runs)
    print(
        f"\nhighest of all runs: {late * 1e3:.1f} ms from when a request was due until it was sent (p99); CPU, in % of one: "
        f"load generator {shares[0]:.0f}, gateway {shares[1]:.0f}, engines {shares[2]:.0f}, all else {others * 100:.0f}"
    )
    if late > LATE_LIMIT or others > OTHERS_LIMIT:
        print("warning: this machine had too little CPU left at times; do not compare the times to first token")


def run(args, directory):
    for program in ("smg", "smg-engine-sim"):
        if not (args.build / "bin" / program).exists():
            raise BenchError(f"{args.build / 'bin' / program} is missing: ./dev build")
    policies, workloads = chosen_policies(args), chosen_workloads(args)
    possible = {workload.key: [] for workload in workloads}
    results = {workload.key: {policy: [] for policy in policies} for workload in workloads}
    for number in range(args.rounds):
        first = number % len(policies)
        for workload in workloads:
            made = workload.make(number, workload.warmup + workload.window)
            possible[workload.key].append(possible_hit_rate(made, workload.warmup))
            requests = [(request.due, request.tokens, request.wire()) for request in made]
            for policy in policies[first:] + policies[:first]:
                place = directory / f"{number}-{workload.key}-{policy}"
                place.mkdir()
                results[workload.key][policy].append(one_run(args, place, workload, requests, policy))
            print(f"round {number + 1}/{args.rounds}  {workload.key}", flush=True)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(results, indent=1) + "\n")
    print("\nmedian (min - max) of the rounds; TTFT: time to first token; load: running and waiting requests of an engine")
    wrong = []
    for workload in workloads:
        print_table(workload, results[workload.key], possible[workload.key])
        wrong += complaints(workload, results[workload.key])
    print_cost(results)
    print("".join(f"FAILED: {sentence}\n" for sentence in wrong) or "everything holds")
    return 1 if wrong else 0
