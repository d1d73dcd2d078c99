"""Suite `selection`: what one choice of a worker executes with overload protection and without, counted by callgrind.

With protection on and nobody over its ceilings a choice must execute exactly the instructions that it executes with
protection off: it reads the same state words and no others."""

import re
import shutil
import subprocess

from processes import BenchError

SELECTIONS = 1000  # that smg-select makes in the counted function
POLICIES = ("round_robin", "random")
SIZES = (3, 256, 10_000)


def instructions(args, directory, policy, workers, protection):
    out = directory / f"{policy}-{workers}-{protection}"
    command = ["valgrind", "--tool=callgrind", "--toggle-collect=smg_counted_selections", f"--callgrind-out-file={out}"]
    command += [str(args.build / "bin/smg-select"), policy, str(workers), protection]
    done = subprocess.run(command, capture_output=True, text=True)
    totals = re.search(r"^totals: (\d+)", out.read_text(), re.MULTILINE) if done.returncode == 0 else None
    if totals is None:
        raise BenchError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return int(totals[1]), int(done.stdout)


def run(args, directory):
    if shutil.which("valgrind") is None:
        raise BenchError("valgrind is not installed: apt-get install valgrind")
    print(f"instructions of {SELECTIONS:,} selections\n")
    print(f"{'policy':12}{'workers':>9}{'off':>14}{'on, steering':>14}{'on, shedding':>14}{'per selection':>15}")
    differ = 0
    for policy in POLICIES:
        for workers in SIZES:
            counts = [instructions(args, directory, policy, workers, how) for how in ("off", "steer", "shed")]
            same = len(set(counts)) == 1 and counts[0][0] > 0
            differ += not same
            print(
                f"{policy:12}{workers:9,}"
                + "".join(f"{count:14,}" for count, _ in counts)
                + f"{counts[0][0] / SELECTIONS:15.1f}   {'identical' if same else 'DIFFERENT'}",
                flush=True,
            )
    return 1 if differ else 0
