"""Suite `streams`: what the gateway promises for streams besides CPU.

`hold`: thousands of silent streams and, among them, slow readers of streams whose engine writes as fast as it can. Memory
per stream, threads, and how fast /health answers meanwhile. `delay`: the delay that the gateway adds to single events,
against the same streams sent straight to the engine."""

import json
import os
import subprocess
import time
from contextlib import ExitStack
from statistics import median

from processes import BenchError, Process
from proxy_suite import Bench, Load
from slow_readers import HealthProbe, SlowReaders

IDLE, SLOW, SLOW_BYTES = 4800, 200, 1000
KIB = 1024


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def flood_request(model):
    body = json.dumps(
        {"model": model, "stream": True, "messages": [{"role": "user", "content": "flood"}], "sim_flood": 0}
    )
    return (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


def threads(process):
    return sum(len(os.listdir(f"/proc/{pid}/task")) for pid in process.pids())


def hold(bench, seconds):
    """One round on a fresh gateway."""
    load = Load("idle", "idle", {"connections": IDLE, "ramp": 2, "tokens": 2, "interval-ms": 3_000_000}, {})
    with bench.start(bench.proxies[0]) as (proxy, port):
        bench.run_load(Load("warm", "json", {"connections": 16, "warmup": 0, "duration": 0.3}, {}), port, proxy)
        before, threads_before = proxy.resident_bytes(), threads(proxy)
        command = bench.load_command(load, port, proxy)
        with ExitStack() as stack:
            holder = stack.enter_context(
                Process("smg-load", command, bench.log("load"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            )
            ready = holder.popen.stdout.readline()
            if not ready or json.loads(ready)["held"] != IDLE:
                raise BenchError(f"smg-load could not hold {IDLE} streams: {ready}\n{holder.tail()}")
            idle = proxy.settled_bytes()
            probe = stack.enter_context(HealthProbe(port, 0.01))
            readers = stack.enter_context(SlowReaders(port, flood_request(bench.model), SLOW, SLOW_BYTES))
            peak, most_threads = idle, threads_before
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                time.sleep(0.25)  # the sampling interval
                peak = max(peak, proxy.resident_bytes())
                most_threads = max(most_threads, threads(proxy))
            holder.popen.communicate(b"")
        return {
            "KiB per idle stream": (idle - before) / KIB / IDLE,
            "KiB per slow reader": (peak - idle) / KIB / SLOW,
            "threads added": most_threads - threads_before,
            "/health p99 (ms)": percentile(probe.times, 0.99),
            "/health failed": probe.failed,
            "slow readers cut off": readers.broken,
            "share that the slowest reader got": min(readers.received) / (SLOW_BYTES * seconds),
        }


def delay(bench, seconds):
    load = Load(
        "delay", "stream", {"connections": 10, "interval-ms": 20, "ramp": 1, "warmup": 0.5, "duration": seconds}, {}
    )
    direct = bench.run_load(load, bench.engine_ports[0])["lag_ms"]
    with bench.start(bench.proxies[0]) as (proxy, port):
        through = bench.run_load(load, port, proxy)["lag_ms"]
    return {f"added delay {key} (ms)": through[key] - direct[key] for key in ("p50", "p99")}


# What a figure may be at most; the others are shown only.
LIMITS = {
    "KiB per idle stream": 4,
    "KiB per slow reader": 96,
    "threads added": 0,
    "/health p99 (ms)": 100,
    "/health failed": 0,
    "slow readers cut off": 0,
    "added delay p99 (ms)": 2,
}


# ... and at least.
FLOORS = {"share that the slowest reader got": 0.5}


def run(args, directory):
    args.proxies, args.only = "smg", None
    bench = Bench(args, directory)
    rounds = []
    with ExitStack() as stack:
        bench.start_engines(stack)
        for number in range(args.rounds):
            rounds.append(hold(bench, 10 if args.quick else 20) | delay(bench, 3 if args.quick else 10))
            print(f"round {number + 1}/{args.rounds}", flush=True)
    print(f"\n{IDLE:,} idle streams and {SLOW} readers of {SLOW_BYTES:,} bytes a second; min, median, max of the rounds\n")
    missed = 0
    for name in rounds[0]:
        values = [one[name] for one in rounds]
        line = f"{name:30}" + "".join(f"{value:12,.2f}" for value in (min(values), median(values), max(values)))
        if name in LIMITS:
            met = median(values) <= LIMITS[name]
            missed += not met
            line += f"   at most {LIMITS[name]}: {'met' if met else 'MISSED'}"
        if name in FLOORS:
            met = median(values) >= FLOORS[name]
            missed += not met
            line += f"   at least {FLOORS[name]}: {'met' if met else 'MISSED'}"
        print(line)
    return 1 if missed else 0
