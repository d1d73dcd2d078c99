"""The engines of the soak and what befalls them: saturation, death and return, removal and addition."""

import json
import threading
import urllib.error
import urllib.request
from collections import Counter

from processes import Process, get, wait_until

CALM, BURST = 16, 120  # clients; a burst is more than the engines' batches and ceilings hold


def call(method, url, value=None):
    body = None if value is None else json.dumps(value).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.status


class Engine:
    def __init__(self, args, directory, port):
        self.url = f"http://127.0.0.1:{port}"
        self.control = f"http://127.0.0.1:{port + 1}"
        self.log = directory / f"engine-{port}.log"
        self.command = [args.build / "bin/smg-engine-sim", "--port", port, "--control-port", port + 1]
        self.command += ["--model", "soak", "--max-running", 6, "--decode-ms", 10, "--journal", 0, "--quiet"]
        self.start()

    def start(self):
        self.process = Process("smg-engine-sim", self.command, self.log)
        wait_until(self.process, "answering", lambda: get(self.url + "/health")[0] == 200)

    def kill(self):
        self.process.popen.kill()
        self.process.stop()

    def report(self, value):
        call("POST", self.control + "/config", {"report": value})


class Troubles:
    """A thread that lets one thing after the other happen until it is ended. What went wrong is in `problem`."""

    def __init__(self, gateway, engines, clients):
        self.gateway = gateway
        self.engines = engines
        self.clients = clients
        self.counts = Counter()
        self.problem = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        self._end.set()
        self._thread.join()

    def _run(self):
        try:
            turn = 0
            while not self._end.is_set():
                engine = self.engines[turn % len(self.engines)]
                for trouble in (self._burst, self._death, self._removal, self._overload):
                    self.clients.level = CALM
                    if self._end.wait(1.5):
                        break
                    trouble(engine)
                turn += 1
        except Exception as problem:  # whatever it is, the suite tells it
            self.problem = problem

    def _workers(self):
        listed = json.loads(get(f"http://127.0.0.1:{self.gateway.port}/workers", 10)[1])["workers"]
        return {worker["url"]: worker for worker in listed}

    def _wait_ready(self, engine):
        wait_until(
            self.gateway.process,
            f"{engine.url} being ready",
            lambda: self._workers().get(engine.url, {}).get("is_healthy"),
            60,
        )

    def _death(self, engine):
        engine.kill()
        self._end.wait(2)  # how long the engine is away
        engine.start()
        self._wait_ready(engine)
        self.counts["kill -9"] += 1

    def _burst(self, _engine):
        self.clients.level = BURST
        self._end.wait(4)
        self.counts["burst"] += 1

    def _removal(self, engine):
        workers = f"http://127.0.0.1:{self.gateway.port}/workers"
        call("DELETE", f"{workers}/{self._workers()[engine.url]['id']}")
        wait_until(self.gateway.process, f"{engine.url} being gone", lambda: engine.url not in self._workers(), 60)
        call("POST", workers, {"url": engine.url})
        self._wait_ready(engine)
        self.counts["removal"] += 1

    def _overload(self, _engine):
        """Every engine says at once that its queue is long."""
        for engine in self.engines:
            engine.report({"num_waiting_reqs": 50})
        self._end.wait(2.5)
        for engine in self.engines:
            engine.report(None)
        self.counts["all overloaded"] += 1
