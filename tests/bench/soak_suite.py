"""Suite `soak`: mixed load on a gateway whose engines saturate, die and return, are removed and added again.

Half of the time with --worker-overload-shed, half of it without, each half on a gateway of its own. Memory, descriptors and
threads stand still, every request gets one answer and its own, and what clients counted is what the gateway counted."""

import asyncio
import threading
import time
from contextlib import ExitStack
from statistics import median

from gateway import Gateway
from processes import BenchError, free_ports, wait_until
from soak_clients import CHAT, SHED, Clients
from soak_fleet import BURST, Engine, Troubles

ENGINES = 4
MEMORY_GROWTH = 0.10  # share by which the last quarter's median may exceed the second quarter's
FILES_LEFT = 16  # descriptors more than before the load, once it is over: connections for probes and polls
MIB = 1024 * 1024
ARGUMENTS = ["--log-level", "error", "--load-monitor-interval", 1, "--health-check-interval-secs", 1]
ARGUMENTS += ["--health-success-threshold", 1, "--cb-timeout-duration-secs", 2, "--drain-settle-secs", 1]
ARGUMENTS += ["--worker-startup-check-interval", 1]


class Sampler:
    """Looks at the gateway once a second."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.seen = []  # (resident bytes, descriptors, threads)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()

    def _run(self):
        while not self._end.wait(1):
            self.seen.append(self.gateway.usage())

    def quarter(self, number, what):
        size = len(self.seen) // 4
        return median(sample[what] for sample in self.seen[size * (number - 1) : size * number])


def counted(gateway):
    """What the gateway says became of the requests, in the clients' words."""
    samples = list(gateway.samples())

    def total(name, fits=""):
        return int(sum(value for found, labels, value in samples if found == name and fits in labels))

    heads = [
        (labels, value)
        for found, labels, value in samples
        if found == "smg_http_responses_total" and f'path="{CHAT}"' in labels
    ]
    answered = int(sum(value for _, value in heads))
    good = int(sum(value for labels, value in heads if 'status_code="2' in labels))
    shed = int(sum(value for labels, value in heads if f'error_code="{SHED}"' in labels))
    cut = total("smg_router_responses_cut_total")
    streaming = total("smg_http_client_aborts_total", 'phase="streaming"')
    early = total("smg_http_client_aborts_total") - streaming
    return {
        "received": total("smg_http_requests_total", f'path="{CHAT}"'),
        "routed": total("smg_router_requests_total"),
        "upload": total("smg_http_client_aborts_total", 'phase="upload"'),
        "completed": good - cut - streaming,
        "shed": shed,
        "failed": answered - good - shed,
        "cut": cut,
        "aborted": streaming + early,
        "shed counter": total("smg_worker_overload_shed_total"),
        "steered": total("smg_worker_overload_fallback_total"),
        "retries": total("smg_worker_retries_total"),
    }


def check_counts(clients, gateway, shedding):
    """Sentences about what does not add up. Of a client that left, only the gateway knows what became of its request: so
    the gateway may have more of the other kinds, all together as many as it has fewer aborted."""
    tally = clients.tally
    kinds = ("completed", "shed", "failed", "cut", "aborted")
    parts = sum(gateway[kind] for kind in kinds)
    if gateway["received"] != parts:
        yield f"the gateway received {gateway['received']:,} requests and tells of the end of {parts:,}"
    if gateway["routed"] != gateway["received"] - gateway["upload"]:
        yield f"{gateway['received']:,} requests were received, {gateway['routed']:,} routed"
    unseen = clients.sent() - gateway["received"]
    if not 0 <= unseen <= tally["aborted"]:
        yield f"clients sent {clients.sent():,} requests, the gateway received {gateway['received']:,}"
    for kind in kinds[:-1]:
        if not tally[kind] <= gateway[kind] <= tally[kind] + tally["aborted"] - gateway["aborted"]:
            yield f"clients count {tally[kind]:,} {kind}, the gateway {gateway[kind]:,}"
    if gateway["aborted"] > tally["aborted"]:
        yield f"{tally['aborted']:,} clients left, the gateway counts {gateway['aborted']:,}"
    if gateway["shed"] != gateway["shed counter"]:
        yield f"{gateway['shed']:,} answers say shed, smg_worker_overload_shed_total says {gateway['shed counter']:,}"
    expected, other = ("shed counter", "steered") if shedding else ("steered", "shed counter")
    if gateway[expected] == 0 or gateway[other] != 0:
        yield f"{gateway['shed counter']:,} requests were shed and {gateway['steered']:,} steered to an overloaded engine"


def check_usage(sampler, before, after):
    memory = [sampler.quarter(number, 0) / MIB for number in (2, 4)]
    files = [sampler.quarter(number, 1) for number in (2, 4)]
    threads = {sample[2] for sample in sampler.seen}
    print(
        f"   memory {memory[0]:.1f} MiB in the 2nd quarter, {memory[1]:.1f} MiB in the last; descriptors {files[0]:.0f}, "
        f"{files[1]:.0f}, before {before[1]}, after {after[1]}; threads {sorted(threads)}"
    )
    if memory[1] > memory[0] * (1 + MEMORY_GROWTH):
        yield f"memory grew from {memory[0]:.1f} to {memory[1]:.1f} MiB, by more than {MEMORY_GROWTH:.0%}"
    if files[1] > files[0] * 1.25 + FILES_LEFT:
        yield f"descriptors grew from {files[0]:.0f} to {files[1]:.0f}"
    if after[1] > before[1] + FILES_LEFT:
        yield f"{after[1]} descriptors are open after the load, {before[1]} were before"
    if len(threads) != 1:
        yield f"the number of threads changed: {sorted(threads)}"


async def drive(clients, gateway, troubles, seconds):
    """The load, for that long or until something is wrong."""
    until = time.monotonic() + seconds
    running = asyncio.create_task(clients.run())
    while time.monotonic() < until and not troubles.problem and gateway.process.popen.poll() is None:
        await asyncio.sleep(0.25)
    await asyncio.to_thread(troubles.end)
    clients.ended = True
    await running


def half(args, directory, shedding, seconds):
    name = "shedding" if shedding else "steering"
    with ExitStack() as stack:
        first = free_ports(2 * ENGINES)
        engines = []
        for i in range(ENGINES):
            engines.append(Engine(args, directory, first + 2 * i))
            stack.callback(lambda engine=engines[-1]: engine.process.stop())
        arguments = ARGUMENTS + (["--worker-overload-shed"] if shedding else [])
        gateway = stack.enter_context(Gateway(args, directory / name, [engine.url for engine in engines], arguments))
        gateway.wait_ready(ENGINES)
        before = gateway.usage()
        clients = Clients(gateway.port, BURST)
        with Troubles(gateway, engines, clients) as troubles, Sampler(gateway) as sampler:
            asyncio.run(drive(clients, gateway, troubles, seconds))
        gateway.process.check()
        if troubles.problem:
            raise BenchError(f"{name}: {troubles.problem}")
        active = "smg_http_connections_active"
        wait_until(gateway.process, "the end of all requests", lambda: gateway.metric(active) == 0, 60)
        wait_until(gateway.process, "the end of all connections", lambda: gateway.descriptors() <= before[1] + FILES_LEFT)
        counts = counted(gateway)
        print(f"== {name}: {seconds:.0f} s, {clients.sent():,} requests; {dict(troubles.counts)}")
        print(f"   clients: {dict(clients.tally)}; failures: {dict(clients.failures)}")
        print(f"   gateway: {counts}")
        problems = list(check_usage(sampler, before, gateway.usage()))
        problems += check_counts(clients, counts, shedding)
        if lost := clients.tally["lost"]:
            problems.append(f"{lost} requests got no answer")
        problems += clients.wrong[:5]
        print("   everything holds" if not problems else "".join(f"   FAILED: {text}\n" for text in problems), flush=True)
        return problems


def run(args, directory):
    seconds = args.minutes * 60 / 2
    problems = half(args, directory, True, seconds) + half(args, directory, False, seconds)
    return 1 if problems else 0
