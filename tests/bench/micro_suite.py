"""Suite `micro`: runs every Google Benchmark executable of the build."""

import os
import subprocess

from processes import BenchError


def run(args, _directory):
    programs = sorted(path for path in (args.build / "bin").glob("*-bench") if os.access(path, os.X_OK))
    if not programs:
        raise BenchError(f"no *-bench executable in {args.build / 'bin'}: ./dev build")
    failed = []
    for program in programs:
        print(f"== {program.name}", flush=True)
        command = [program] + (["--benchmark_min_time=0.05"] if args.quick else [])
        if subprocess.run(command).returncode != 0:
            failed.append(program.name)
    if failed:
        raise BenchError(f"failed: {', '.join(failed)}")
    return 0
