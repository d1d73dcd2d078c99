"""Reloads of every kind of plugin under streams and small requests: nothing is lost, nothing grows.

SMG_TEST_RELOADS sets how often each library is reloaded, SMG_TEST_STREAMS how many streams run meanwhile.
"""
import contextlib
import json
import os
import pathlib
import subprocess
import threading

from engines import Engine
from support import BUILD, ENV, SLOW, Gateway, wait_for

RELOADS = int(os.environ.get("SMG_TEST_RELOADS", "15"))
STREAMS = int(os.environ.get("SMG_TEST_STREAMS", "100"))
RATE = int(os.environ.get("SMG_TEST_RATE", "300"))
LIBRARIES = ["policy.cache_aware", "transport.http", "monitor.http_loads", "monitor.prometheus_scrape"]


class Load:
    """One run of the load generator: its figures when it ends."""

    def __init__(self, mode, port, **options):
        words = [word for key, value in options.items() for word in (f"--{key.replace('_', '-')}", str(value))]
        self.process = subprocess.Popen([BUILD / "bin" / "smg-load", mode, "--port", str(port), "--model", "m", *words],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)

    def running(self):
        return self.process.poll() is None

    def figures(self):
        out, errors = self.process.communicate(timeout=600 * SLOW)
        assert self.process.returncode == 0, errors
        return json.loads(out)


def libraries(running):
    """The mappings of shared objects, and the plugins' own files among them."""
    lines = pathlib.Path(f"/proc/{running.process.pid}/maps").read_text().splitlines()
    mapped = [line.split(maxsplit=5)[5] for line in lines if ".so" in line]
    return mapped, {file for file in mapped if "/smg-plugins-" in file}


def settled(running):
    """What a process must not pile up: descriptors, threads, mapped files; once every replaced instance is gone and
    its library, which goes a moment later, is closed."""
    def quiet():
        plugins = json.loads(running.get("/plugins")[2])["plugins"]
        mapped, copies = libraries(running)
        in_service = {entry["path"] for entry in plugins}
        if len(copies) != len(in_service) or any(entry["draining"] for entry in plugins):
            return None
        return running.descriptors(), running.threads(), len(mapped)

    return wait_for(quiet, "replaced instances and libraries to go", 60 * SLOW)


def test_reloads_of_every_kind_lose_no_request_and_leave_nothing_behind():
    with contextlib.ExitStack() as stack:
        engines = [stack.enter_context(Engine("--max-running", "100000", "--kv-blocks", "10000000")) for _ in range(2)]
        running = stack.enter_context(Gateway(engines, policy="cache_aware", watch=False))

        def reload(name):
            status, _, body = running.post(f"/plugins/{name}/reload", b"")
            assert status == 200, body

        for name in LIBRARIES:
            reload(name)
        before = settled(running)
        # Streams long enough for all reloads; how long these take is not known beforehand.
        streams = Load("stream", running.port, connections=STREAMS, interval_ms=200, tokens=max(50, RELOADS * 3 // 2), ramp=1, warmup=0,
                       duration=1, drain=600)
        stop = threading.Event()
        small = []

        def one_after_the_other():
            while not stop.is_set():
                small.append(Load("json", running.port, connections=32, rate=RATE, warmup=0, duration=2).figures())

        client = threading.Thread(target=one_after_the_other)
        client.start()
        try:
            under_streams = 0
            for _ in range(RELOADS):
                for name in LIBRARIES:
                    reload(name)
                under_streams += streams.running()
        finally:
            stop.set()
            client.join()
        figures = streams.figures()
        assert under_streams == RELOADS, "the streams ended before the reloads did"
        print(f"{figures['completed']} streams, {figures['errors']}; {sum(run['requests'] for run in small):.0f} small requests,",
              small[-1]["latency_ms"])
        assert figures["completed"] == STREAMS and sum(figures["errors"].values()) == 0
        assert sum(sum(run["errors"].values()) for run in small) == 0 and sum(run["requests"] for run in small) > 0
        after = settled(running)
        descriptors, threads, maps = (now - then for now, then in zip(after, before))
        assert descriptors <= 4 and threads == 0 and maps == 0, (before, after)
        for name in LIBRARIES:
            library = name.split(".")[1]
            assert running.metric("smg_plugin_reload_steps_total", library=library, step="swap", result="ok") == RELOADS + 1
            assert running.metric("smg_plugin_reload_steps_total", library=library, result="failed") == 0
        assert running.metric("smg_plugin_faults_total") == 0
        print("descriptors, threads, maps:", before, after)
