"""Suite `safety`: what authentication, the concurrency limiter and the access log cost together. The same gateway with
all of them and without, one after the other for each load, round by round."""

from measures import SAFETY_MEASURES
from proxies import Gateway, choose
from proxy_suite import LOADS, Bench, keep, report_failures, run_rounds
from table import print_table

MEASURED = {measure.load for measure in SAFETY_MEASURES}


def variants(binary):
    arguments = ["launch", "--config", "{config}"]
    worker = '[[worker]]\nurl = "{url}"\n'
    return {
        "off": Gateway("smg", binary, "smg.toml", arguments, worker),
        "on": Gateway("smg", binary, "smg_safe.toml", arguments, worker),
    }


def run(args, directory):
    bench = Bench(
        args,
        directory,
        choose(["off", "on"], variants(Bench.smg(args))),
        [load for load in LOADS if load.key in MEASURED],
    )
    box = run_rounds(bench)
    results = bench.values(SAFETY_MEASURES)
    print_table([measure for measure in SAFETY_MEASURES if measure.key in results], results, "off", judged="on")
    report_failures(bench, box)
    keep(bench, box, "off", results)
    return 1 if bench.failures() else 0
