#!/usr/bin/env python3
"""The driver behind `./dev bench`: picks a suite, gives it a temporary directory, cleans up whatever happens."""

import argparse
import resource
import signal
import sys
import tempfile
from pathlib import Path

import fleet_suite
import micro_suite
import policies_suite
import proxy_suite
import reload_suite
import safety_suite
import selection_suite
import soak_suite
import streams_suite
from processes import BenchError

SUITES = {
    "proxy": proxy_suite.run,
    "streams": streams_suite.run,
    "fleet": fleet_suite.run,
    "soak": soak_suite.run,
    "policies": policies_suite.run,
    "reload": reload_suite.run,
    "safety": safety_suite.run,
    "selection": selection_suite.run,
    "micro": micro_suite.run,
}
ROOT = Path(__file__).resolve().parents[2]
FILES_NEEDED = 12_000  # a proxy with 5,000 streams holds two sockets for each, 10,000 workers one for their reports


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("suite", nargs="?", choices=SUITES, default="proxy")
    parser.add_argument(
        "--rounds",
        type=int,
        help="rounds of the proxy, streams and fleet suites [5, with --quick 1], of policies and reload [3, with --quick 1]",
    )
    parser.add_argument("--quick", action="store_true", help="1 round with short windows, 1 to 2 minutes")
    parser.add_argument("--minutes", type=float, default=20, help="how long the soak lasts [%(default)s]")
    parser.add_argument(
        "--proxies", default="smg,haproxy,nginx", help="in order; one named twice is measured twice [%(default)s]"
    )
    parser.add_argument(
        "--only",
        help="loads to run, separated by commas: "
        + ",".join(load.key for load in proxy_suite.LOADS)
        + "; of the policies suite: "
        + ",".join(workload.key for workload in policies_suite.WORKLOADS),
    )
    parser.add_argument(
        "--policies", help="policies of the suite of that name, separated by commas [all that are built but passthrough]"
    )
    parser.add_argument("--body-bytes", type=int, default=1024, help="size of a request's body [%(default)s]")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="build directory [build/release]")
    parser.add_argument("--smg", type=Path, help="gateway to measure [that of the build directory]")
    parser.add_argument("--output", type=Path, help="raw figures of suites that keep them [build/bench/SUITE.json]")
    args = parser.parse_args(arguments)
    args.rounds = args.rounds or (1 if args.quick else 3 if args.suite in ("policies", "reload") else 5)
    args.output = args.output or ROOT / f"build/bench/{args.suite}.json"
    if args.rounds < 1:
        parser.error(f"--rounds {args.rounds}: must be 1 or more")
    return args


def raise_file_limit():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (65536, hard):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(wanted, hard)))
            break
        except (ValueError, OSError):
            continue
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < FILES_NEEDED:
        raise BenchError(
            f"open files are limited to {soft}, {FILES_NEEDED} are needed: ulimit -Hn {FILES_NEEDED} as root"
        )


def interrupt(number, _frame):
    raise KeyboardInterrupt(signal.Signals(number).name)


def main():
    args = parse(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        raise_file_limit()
        with tempfile.TemporaryDirectory(prefix="smg-bench-") as directory:
            return SUITES[args.suite](args, Path(directory))
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted: everything was stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
