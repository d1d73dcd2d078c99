"""Simulated engines in a process each, so that one can be killed or frozen alone; and requests that spread over them."""
import json
import signal
import urllib.request

from observe import Stream
from support import DEADLINE, EngineSim


class Engine(EngineSim):
    """One engine in a process of its own, so that it can be killed alone."""

    def __init__(self, *args, prefix=()):
        self.args, self.prefix = ("--model", "m", *args), prefix
        super().__init__(1, *self.args, prefix=prefix)
        self.url = self.urls[0]
        self.port = int(self.url.rsplit(":", 1)[1])

    def kill(self):
        self.process.kill()
        self.process.wait()

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def restart(self):
        super().__init__(1, *self.args, "--port", str(self.port), prefix=self.prefix)
        assert self.urls == [self.url]

    def state(self):
        with urllib.request.urlopen(self.control + "/state", timeout=DEADLINE) as answer:
            return json.load(answer)["engines"][0]

    def order(self, path, **fields):
        """An order to the control port; see the simulated engine's README."""
        request = urllib.request.Request(self.control + path, json.dumps(fields).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=DEADLINE):
            pass

    def __exit__(self, *_):
        self.thaw()
        if self.process.poll() is None:
            super().__exit__()


def stream_to_each(port, engines, tokens):
    """One stream per engine, all under way. A stream takes 20 ms per token."""
    streams = {}
    for _ in engines:
        stream = Stream(port, max_tokens=tokens, sim_interval_ms=20)
        stream.flows()
        streams[stream.worker] = stream
    assert set(streams) == {engine.url for engine in engines}
    return [streams[engine.url] for engine in engines]


def straight(engine, tokens):
    """What the engine says to the same request without a gateway."""
    stream = Stream(engine.port, max_tokens=tokens)
    assert stream.result() == "complete" and stream.data.endswith(b"data: [DONE]\n\n")
    return stream.text()


def routed_to(running, count=6):
    """Who answers so many requests; every one of them is answered."""
    answers = [running.chat(max_tokens=1) for _ in range(count)]
    assert [status for status, _, _ in answers] == [200] * count, answers
    return {headers["x-smg-routed-worker-id"] for _, headers, _ in answers}
