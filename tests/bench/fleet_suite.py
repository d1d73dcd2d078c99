"""Suite `fleet`: ten thousand workers behind one gateway, all simulated by one thread (`smg-fleet-sim`).

How long until all are ready, what a worker costs in memory, and what it costs to ask all of them for their load every ten
seconds: CPU of the gateway, and how long others wait meanwhile. Compared with the same fleet that nobody asks. Health is
probed once, at the start, so that probes are in no window."""

import json
import os
import time
from contextlib import ExitStack
from statistics import median

from gateway import Gateway
from processes import BenchError, Process, free_ports, get, wait_until
from slow_readers import HealthProbe
from streams_suite import percentile, threads

WORKERS = 10_000
PORTS = 16  # the workers share them, so that connections do not run out of ephemeral ports
FEW = 16  # workers of the fleet that shows what a gateway needs by itself
INTERVAL = 10
KIB = 1024
UNPOLLED = ["--disable-load-monitoring", "--disable-worker-overload-protection"]
CHAT = b'{"model":"fleet-model","messages":[{"role":"user","content":"Hello"}]}'


class ChatProbe(HealthProbe):
    request = (
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(CHAT), CHAT)
    )


def urls(first_port, count):
    return [f"http://127.0.0.1:{first_port + i % PORTS}/w{i}" for i in range(count)]


def machine_busy():
    """CPU seconds of everything on this machine, idle and waiting for disks left out."""
    fields = open("/proc/stat").readline().split()[1:9]
    ticks = [int(field) for field in fields]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def wait_for_a_pause(sim, sim_port):
    """Until nobody has been asked for its load for half a second: a window that begins then cuts no round of polls."""
    seen = []

    def pauses():
        seen.append(json.loads(get(f"http://127.0.0.1:{sim_port}/counts")[1])["loads"])
        return len(seen) > 10 and len(set(seen[-10:])) == 1

    wait_until(sim, "a pause between polls", pauses)


def window(gateway, seconds, probes):
    """CPU of the gateway over a whole number of load intervals, with somebody asking it something meanwhile or nobody."""
    # A scrape of such a fleet is work: it stays out of the window.
    reports = gateway.metric("smg_load_reports_total", result="ok")
    cpu, busy, began = gateway.cpu_seconds(), machine_busy(), time.monotonic()
    with ExitStack() as stack:
        asked = [stack.enter_context(kind(gateway.port, 0.01)) for kind in probes]
        wait_until(gateway.process, "the window's end", lambda: time.monotonic() >= began + seconds, seconds + 30)
    used, took = gateway.cpu_seconds() - cpu, time.monotonic() - began
    return {
        "cpu": used,
        "share": used / took,
        "others": (machine_busy() - busy - used) / (took * os.cpu_count()),
        "reports": gateway.metric("smg_load_reports_total", result="ok") - reports,
        "probes": asked,
    }


def start(args, directory, sim_port, count, polled):
    arguments = ["--log-level", "error", "--health-check-interval-secs", 3600] + ([] if polled else UNPOLLED)
    return Gateway(args, directory / f"{polled}-{count}", urls(sim_port, count), arguments)


def one_round(args, directory, sim, sim_port, polled):
    name = "polled" if polled else "unpolled"
    with start(args, directory, sim_port, FEW, polled) as few:
        few.wait_ready(FEW)
        few_bytes = few.process.settled_bytes()
    began = time.monotonic()
    with start(args, directory, sim_port, WORKERS, polled) as gateway:
        gateway.wait_ready(WORKERS, 120)
        figures = {
            f"{name}: seconds until all are ready": time.monotonic() - began,
            f"{name}: CPU seconds until then": gateway.cpu_seconds(),
        }
        wait_until(
            gateway.process,
            "the first probe of every worker",
            lambda: gateway.metric("smg_worker_health_checks_total", result="success") >= WORKERS,
            60,
        )
        if polled:
            wait_until(
                gateway.process,
                "a report of every worker",
                lambda: gateway.series("smg_load_report_age_seconds", lambda age: age >= 0) == WORKERS,
                60,
            )
        intervals = 1 if args.quick else 3
        wait_for_a_pause(sim, sim_port)
        alone = window(gateway, intervals * INTERVAL, [])
        asked = window(gateway, intervals * INTERVAL, [HealthProbe, ChatProbe])
        failed = gateway.failed_reports()
        silent = WORKERS - gateway.series("smg_load_report_age_seconds", lambda age: 0 <= age <= INTERVAL + 5)
        figures |= {
            f"{name}: KiB of memory per worker": (gateway.process.resident_bytes() - few_bytes) / KIB / (WORKERS - FEW),
            f"{name}: CPU of the gateway (%)": alone["share"] * 100,
            f"{name}: /health p50 (ms)": percentile(asked["probes"][0].times, 0.5),
            f"{name}: /health p99 (ms)": percentile(asked["probes"][0].times, 0.99),
            f"{name}: chat p50 (ms)": percentile(asked["probes"][1].times, 0.5),
            f"{name}: chat p99 (ms)": percentile(asked["probes"][1].times, 0.99),
            f"{name}: answers that failed": sum(probe.failed for probe in asked["probes"]),
            f"{name}: threads": threads(gateway.process),
            f"{name}: CPU of others (%)": alone["others"] * 100,
        }
        if polled:
            figures |= {
                "polled: reports per worker and interval": alone["reports"] / WORKERS / intervals,
                "polled: CPU per report (us)": alone["cpu"] * 1e6 / max(alone["reports"], 1),
                "polled: workers without a fresh report": silent,
                "polled: polls without a report": failed,
            }
        return figures


LIMITS = {
    "polled: workers without a fresh report": 0,
    "polled: polls without a report": 0,
    "polled: answers that failed": 0,
    "unpolled: answers that failed": 0,
}


def run(args, directory):
    for program in ("smg", "smg-fleet-sim"):
        if not (args.build / "bin" / program).exists():
            raise BenchError(f"{args.build / 'bin' / program} is missing: ./dev build")
    rounds = []
    sim_port = free_ports(PORTS)
    with Process(
        "smg-fleet-sim", [args.build / "bin/smg-fleet-sim", sim_port, PORTS], directory / "fleet-sim.log"
    ) as sim:
        wait_until(sim, "answering", lambda: get(f"http://127.0.0.1:{sim_port}/health")[0] == 200)
        for number in range(args.rounds):
            rounds.append(
                one_round(args, directory, sim, sim_port, True) | one_round(args, directory, sim, sim_port, False)
            )
            print(f"round {number + 1}/{args.rounds}", flush=True)
    print(f"\n{WORKERS:,} workers, asked for their load every {INTERVAL} s or never; min, median, max of the rounds\n")
    missed = 0
    for name in rounds[0]:
        values = [one[name] for one in rounds]
        line = f"{name:42}" + "".join(f"{value:12,.2f}" for value in (min(values), median(values), max(values)))
        if name in LIMITS:
            met = max(values) <= LIMITS[name]
            missed += not met
            line += f"   at most {LIMITS[name]}: {'met' if met else 'MISSED'}"
        print(line)
    return 1 if missed else 0
