"""Suite `proxy`: smg, HAProxy and nginx in front of the same simulated engines, one after the other for each load,
round by round, so that whatever drifts on the machine drifts for all of them."""

import json
import os
import subprocess
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median

from measures import BENCH_COST, PROXY_MEASURES
from processes import BenchError, Process, free_ports, get, wait_until
from proxies import choose, known_proxies
from table import print_table

ENGINES = 4


@dataclass(frozen=True)
class Load:
    key: str
    mode: str
    options: dict
    quick: dict  # what differs with --quick

    def arguments(self, quick):
        merged = self.options | (self.quick if quick else {})
        return [self.mode, *(word for key, value in merged.items() for word in (f"--{key}", str(value)))]


SHORT = {"warmup": 0.3, "duration": 1}
# The overloaded streams take several times as long as the tokens asked for would on an unloaded machine.
LOADS = [
    Load("idle", "idle", {"connections": 5000, "ramp": 2, "tokens": 2, "interval-ms": 3_000_000}, {"ramp": 1}),
    Load("json_64", "json", {"connections": 64, "warmup": 0.5, "duration": 3.5}, SHORT),
    Load("json_512", "json", {"connections": 512, "warmup": 0.5, "duration": 3.5}, SHORT),
    Load("latency", "json", {"connections": 64, "rate": 1000, "warmup": 0.5, "duration": 3}, SHORT),
    Load(
        "stream_1000",
        "stream",
        {"connections": 1000, "interval-ms": 20, "ramp": 1, "warmup": 0.7, "duration": 4},
        SHORT,
    ),
    Load(
        "stream_5000",
        "stream",
        {"connections": 5000, "interval-ms": 200, "ramp": 1.5, "warmup": 0.7, "duration": 4},
        SHORT,
    ),
    Load(
        "overload",
        "stream",
        {"connections": 5000, "interval-ms": 20, "ramp": 1, "tokens": 120, "warmup": 0.5, "duration": 2},
        SHORT | {"ramp": 0.5, "tokens": 60},
    ),
]


class Bench:
    """Runs `loads` on `proxies`, a list of (name, Proxy): those of --proxies if none are given."""

    def __init__(self, args, directory, proxies=None, loads=LOADS):
        self.args = args
        self.directory = directory
        self.bin = args.build / "bin"
        for program in ("smg-load", "smg-engine-sim"):
            if not (self.bin / program).exists():
                raise BenchError(f"{self.bin / program} is missing: ./dev build")
        self.proxies = []
        for name, proxy in proxies or choose(args.proxies.split(","), known_proxies(self.smg(args))):
            if proxy.executable() is not None:
                self.proxies.append((name, proxy))
            elif proxy.kind == "smg":
                print(f"skipping smg: {proxy.binary} is missing (./dev build)")
            else:
                raise BenchError(f"{proxy.binary} is not installed: ./dev deps bench")
        if not self.proxies:
            raise BenchError("no proxy is left to measure")
        self.loads = [load for load in loads if not args.only or load.key in args.only.split(",")]
        if not self.loads:
            raise BenchError(f"--only {args.only}: must name one of {', '.join(load.key for load in loads)}")
        self.rounds = []  # one dict a round: load key -> proxy name -> report
        self.files = 0

    @staticmethod
    def smg(args):
        return str(args.smg or args.build / "bin/smg")

    def log(self, name):
        return self.directory / f"{name}.log"

    def start_engines(self, stack):
        port = free_ports(ENGINES)
        command = [
            self.bin / "smg-engine-sim",
            "--port",
            port,
            "--count",
            ENGINES,
            "--fast",
            "--max-running",
            0,
            "--quiet",
        ]
        self.engines = stack.enter_context(Process("smg-engine-sim", command, self.log("engines")))
        self.engine_ports = range(port, port + ENGINES)
        for one in self.engine_ports:
            wait_until(
                self.engines, f"port {one} answering", lambda p=one: get(f"http://127.0.0.1:{p}/health")[0] == 200
            )
        self.model = json.loads(get(f"http://127.0.0.1:{port}/v1/models")[1])["data"][0]["id"]

    def load_command(self, load, port, proxy=None):
        command = [
            self.bin / "smg-load",
            *load.arguments(self.args.quick),
            "--port",
            port,
            "--model",
            self.model,
            "--body-bytes",
            self.args.body_bytes,
        ]
        for name, process in (("proxy", proxy), ("engines", self.engines)):
            if process is not None and load.mode != "idle":
                command += ["--watch", f"{name}:{','.join(map(str, process.pids()))}"]
        return command

    def run_load(self, load, port, proxy=None):
        with Process(
            "smg-load", self.load_command(load, port, proxy), self.log("load"), stdout=subprocess.PIPE
        ) as process:
            output, _ = process.popen.communicate()
            if process.popen.returncode != 0:
                raise BenchError(f"smg-load {load.key} failed:\n{process.tail()}")
        if proxy is not None:
            proxy.check()
        self.engines.check()
        return json.loads(output)

    def run_idle(self, load, port, proxy):
        """Resident memory of a fresh proxy before, and with, many streams that have begun and say nothing."""
        warm = Load("warm", "json", {"connections": 16, "warmup": 0, "duration": 0.3}, {})
        self.run_load(warm, port, proxy)
        before = proxy.resident_bytes()
        command = self.load_command(load, port, proxy)
        with Process("smg-load", command, self.log("load"), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            ready = process.popen.stdout.readline()
            if not ready:
                raise BenchError(f"smg-load {load.key} failed:\n{process.tail()}")
            held = json.loads(ready)["held"]
            after = proxy.settled_bytes()
            output, _ = process.popen.communicate(b"")
        report = json.loads(output)
        report |= {"before_bytes": before, "after_bytes": after, "bytes_per_stream": (after - before) / max(held, 1)}
        return report

    def run_round(self, number):
        shift = number % len(self.proxies)
        order = self.proxies[shift:] + self.proxies[:shift]
        reports = {load.key: {} for load in self.loads}
        for load in self.loads:
            direct = self.run_load(load, self.engine_ports[0]) if load.key == "latency" else None
            for named in order:
                report = self.measure(named, load)
                if direct is not None:
                    report["direct"] = direct
                reports[load.key][named[0]] = report
                self.progress(number, load, named[0], report)
        self.rounds.append(reports)

    @contextmanager
    def start(self, named):
        """A fresh process of a (name, Proxy) pair in front of the engines, and the port it listens on."""
        name, proxy = named
        port = free_ports(2)
        engines = [f"http://127.0.0.1:{one}" for one in self.engine_ports]
        with proxy.launch(name, self.directory / name, port, port + 1, engines) as process:
            yield process, port

    def measure(self, named, load):
        """One load on a fresh process, so that nothing is left over from the load before."""
        with self.start(named) as (process, port):
            return (self.run_idle if load.mode == "idle" else self.run_load)(load, port, process)

    def progress(self, number, load, name, report):
        brief = {
            "idle": lambda: f"{report['held']:,} held, {report['bytes_per_stream'] / 1024:.2f} KiB each",
            "json": lambda: f"{report['requests_per_s']:,.0f} requests/s",
            "stream": lambda: f"{report['tokens_per_s']:,.0f} tokens/s",
        }[load.mode]()
        errors = report["errors"] or ""
        print(f"round {number + 1}/{self.args.rounds}  {load.key:12} {name:10} {brief} {errors}", flush=True)

    def values(self, measures):
        """measure key -> proxy name -> one value a round."""
        return {
            measure.key: {
                name: [measure.value(reports[measure.load][name]) for reports in self.rounds]
                for name, _ in self.proxies
            }
            for measure in measures
            if any(load.key == measure.load for load in self.loads)
        }

    def failures(self):
        totals = {}
        for reports in self.rounds:
            for key, by_proxy in reports.items():
                for name, report in by_proxy.items():
                    for kind, count in report["errors"].items():
                        place = (name, key, kind)
                        totals[place] = totals.get(place, 0) + count
        return totals


def foreign_share(report, cpus):
    """Share of the machine's CPU time in the window that went neither to the proxy nor to the bench."""
    ours = [report["load_cpu"], *report["watched"].values()]
    used = sum(report["machine_cpu"].values()) - sum(sum(cpu.values()) for cpu in ours)
    return max(used, 0) / (cpus * report["seconds"])


def machine():
    cpu = next((line.partition(":")[2].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    return {
        "cpus": len(os.sched_getaffinity(0)),
        "cpu": cpu,
        "kernel": os.uname().release,
        "load_at_start": os.getloadavg()[0],
    }


def run_rounds(bench):
    """All rounds of a bench, with what a reader has to know of the machine."""
    box = machine()
    print(
        f"{box['cpus']} CPUs ({box['cpu']}), Linux {box['kernel']}; load average {box['load_at_start']:.2f}"
        + ("  <- the machine is not idle, figures will scatter" if box["load_at_start"] > 0.5 else "")
    )
    started = time.monotonic()
    with ExitStack() as stack:
        bench.start_engines(stack)
        for number in range(bench.args.rounds):
            bench.run_round(number)
    print(f"\n{bench.args.rounds} rounds in {time.monotonic() - started:.0f} s; ratios are taken within a round\n")
    return box


def report_failures(bench, box):
    failures = bench.failures()
    shares = [
        foreign_share(report, box["cpus"])
        for reports in bench.rounds
        for by_proxy in reports.values()
        for report in by_proxy.values()
        if "machine_cpu" in report
    ]
    if shares:
        note = "; close what else runs here and measure again" if median(shares) > 0.1 else ""
        print(f"\nCPU that other processes took: median {median(shares):.0%}, at most {max(shares):.0%}{note}")
    print("Failed requests: " + ("none" if not failures else ""))
    for (name, load, kind), count in sorted(failures.items()):
        print(f"  {name} {load}: {count} {kind}")


def keep(bench, box, baseline, results):
    output = bench.args.output
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(
        json.dumps(
            {"machine": box, "quick": bench.args.quick, "baseline": baseline, "values": results, "rounds": bench.rounds},
            indent=1,
        )
    )
    print(f"all figures: {output}")


def run(args, directory):
    bench = Bench(args, directory)
    box = run_rounds(bench)
    names = [name for name, _ in bench.proxies]
    baseline = "haproxy" if "haproxy" in names else names[0]
    results = bench.values(PROXY_MEASURES + BENCH_COST)
    shown = [measure for measure in PROXY_MEASURES if measure.key in results]
    if shown:
        print_table(shown, results, baseline, judged="smg")
    costs = [measure for measure in BENCH_COST if measure.key in results]
    if costs:
        print("\nCost of the bench itself, behind each proxy")
        print_table(costs, results, baseline, judged=None)
    report_failures(bench, box)
    keep(bench, box, baseline, results)
    return 0
