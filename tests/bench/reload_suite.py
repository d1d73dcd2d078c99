"""Suite `reload`: what reloading cache_aware in the middle of a workload costs in cache hits, on simulated engines.

The same conversations three times, each on a fresh gateway and fresh engines: without a reload, with one that hands the state
over, and with one that starts the new instance empty."""

import asyncio
import json
import urllib.error
import urllib.request
from contextlib import ExitStack
from statistics import median

from chat_client import Client
from gateway import Gateway
from policies_suite import ARGUMENTS, ENGINES, Engines, cell, growth
from processes import BenchError
from workloads import chat

WARMUP, BEFORE, AFTER = 5.0, 5.0, 4.0  # seconds
LAST = 1.0  # seconds that conversations go on, so that a reload that takes its time is followed by as much
PATIENCE = 30  # seconds that a reload may take
ROUTE = "/plugins/cache_aware/reload"
RELOADS = {"none": None, "hand-over": ROUTE, "empty": ROUTE + "?state=discard"}
KEPT = 0.02  # of the hit rate may be lost by a reload with hand-over


def post(url):
    request = urllib.request.Request(url, data=b"", method="POST")
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError as error:
        return 0, str(error).encode()


def hit_rate(before, after):
    return sum(growth(before, after, "hit_tokens")) / max(sum(growth(before, after, "queried_tokens")), 1)


async def replay(client, engines, gateway, route):
    """The engines' states at the edges of the windows, and how long the reload took."""
    loop = asyncio.get_running_loop()
    sending = asyncio.create_task(client.run())
    await asyncio.sleep(WARMUP)  # what comes before the window is not measured
    begin = await engines.state()
    await asyncio.sleep(BEFORE)
    end, took = await engines.state(), 0.0
    if route:
        asked = loop.time()
        status, body = await asyncio.to_thread(post, f"http://127.0.0.1:{gateway.port}{route}")
        took = loop.time() - asked
        if status // 100 != 2:
            raise BenchError(f"POST {route}: status {status}, {body.decode(errors='replace')[:300]}")
    swapped = await engines.state()
    await asyncio.sleep(AFTER)
    seen = [(begin, end), (swapped, await engines.state())]
    await sending
    return seen, took


def one_run(args, directory, requests, route):
    with ExitStack() as stack:
        engines = stack.enter_context(Engines(args, directory))
        sections = '[policy]\nname = "cache_aware"\n'
        gateway = stack.enter_context(Gateway(args, directory / "gateway", engines.urls, ARGUMENTS, sections))
        gateway.wait_ready(ENGINES)
        client = Client(gateway.port, requests)
        ((before, after), took) = asyncio.run(replay(client, engines, gateway, route))
        gateway.process.check()
    problems = {}
    for outcome in client.outcomes:
        if outcome.problem:
            problems[outcome.problem] = problems.get(outcome.problem, 0) + 1
    return {
        "before": hit_rate(*before),
        "after": hit_rate(*after),
        "reload_seconds": took,
        "failed": sum(problems.values()),
        "problems": problems,
    }


def complaints(results):
    for reload, rounds in results.items():
        if failed := [one["problems"] for one in rounds if one["failed"]]:
            yield f"{reload}: requests failed: {failed}"
    kept = median(one["after"] for one in results["hand-over"])
    untouched = median(one["after"] for one in results["none"])
    if kept < untouched - KEPT:
        yield f"hand-over: {kept:.1%} cache hits after the reload, {untouched:.1%} without one"


def run(args, directory):
    for program in ("smg", "smg-engine-sim"):
        if not (args.build / "bin" / program).exists():
            raise BenchError(f"{args.build / 'bin' / program} is missing: ./dev build")
    results = {reload: [] for reload in RELOADS}
    for number in range(args.rounds):
        made = chat(number, WARMUP + BEFORE + AFTER + LAST)
        requests = [(request.due, request.tokens, request.wire()) for request in made]
        for reload, route in RELOADS.items():
            place = directory / f"{number}-{reload}"
            place.mkdir()
            results[reload].append(one_run(args, place, requests, route))
        print(f"round {number + 1}/{args.rounds}", flush=True)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(results, indent=1) + "\n")
    print(f"\ncache hits in % in the {BEFORE:g} s before the reload and the {AFTER:g} s after; median (min - max) of the rounds")
    rows = [["reload", "before", "after", "reload took (s)", "failed"]]
    for reload, rounds in results.items():
        figures = [("before", 100, 1), ("after", 100, 1), ("reload_seconds", 1, 2), ("failed", 1, 0)]
        rows.append([reload, *(cell([one[key] for one in rounds], factor, places) for key, factor, places in figures)])
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join([row[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(row[1:], widths[1:]))]))
    wrong = list(complaints(results))
    print("".join(f"FAILED: {sentence}\n" for sentence in wrong) or "everything holds")
    return 1 if wrong else 0
