"""Streamed chat completions at set times: an open loop, so that a slow answer delays no later request."""

import asyncio
from dataclasses import dataclass
from typing import Optional

PATIENCE = 60  # seconds after the last request until an answer counts as missing
FIRST_TOKEN = b'"delta":{"content":'  # the event before it, with the role, says nothing about the prompt
LAST_CHUNK = b"\r\n0\r\n\r\n"
DONE = b"data: [DONE]\n\n"


@dataclass
class Outcome:
    due: float  # seconds after the beginning, like all times here
    sent: float
    first: Optional[float] = None  # token
    problem: Optional[str] = None  # None: complete


def unchunked(body):
    """The content of a chunked body."""
    parts, at = [], 0
    while True:
        line_end = body.index(b"\r\n", at)
        size = int(body[at:line_end].split(b";")[0], 16)
        if size == 0:
            return b"".join(parts)
        parts.append(body[line_end + 2 : line_end + 2 + size])
        at = line_end + 2 + size + 2


class Answer:
    """Collects one answer, in whatever pieces it comes."""

    def __init__(self):
        self.bytes = bytearray()
        self.first = None
        self._body = 0  # where it begins; 0: not yet known
        self._length = None  # of the body; None: chunked
        self.status = 0

    def add(self, data, now):
        """True at the end of the answer."""
        self.bytes += data
        if self.first is None and FIRST_TOKEN in self.bytes:
            self.first = now
        if not self._body:
            self._read_head()
        if not self._body:
            return False
        if self._length is None:
            return self.bytes.endswith(LAST_CHUNK)
        return len(self.bytes) >= self._body + self._length

    def _read_head(self):
        head, found, _ = self.bytes.partition(b"\r\n\r\n")
        if not found:
            return
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split(" ", 2)[1])
        headers = dict(line.lower().split(": ", 1) for line in lines[1:])
        if headers.get("transfer-encoding") != "chunked":
            self._length = int(headers.get("content-length", 0))
        self._body = len(head) + 4

    def problem(self, tokens):
        """Why the answer is not the one that was asked for, or None."""
        if self.status != 200:
            return f"status {self.status}"
        if self._length is not None:
            return "not streamed"
        events = unchunked(bytes(self.bytes[self._body :]))
        if not events.endswith(DONE):
            return "truncated"
        if (got := events.count(FIRST_TOKEN)) != tokens:
            return f"{got} tokens of {tokens}"
        return None


class Connection(asyncio.Protocol):
    """Keep-alive: one request after the other."""

    def __init__(self):
        self.transport = None
        self.answer = None
        self.ended = None  # future of the answer

    def connection_made(self, transport):
        self.transport = transport

    def ask(self, wire):
        self.answer, self.ended = Answer(), asyncio.get_running_loop().create_future()
        self.transport.write(wire)
        return self.ended

    def data_received(self, data):
        if self.ended is None or self.ended.done():
            self.transport.abort()  # nobody has asked for this
        elif self.answer.add(data, asyncio.get_running_loop().time()):
            self.ended.set_result(self.answer)

    def connection_lost(self, _error):
        if self.ended is not None and not self.ended.done():
            self.ended.set_exception(ConnectionError("closed"))


class Client:
    """Sends requests, each a tuple (seconds after the beginning, tokens of the answer, bytes), when they are due. `outcomes`
    has one for each that has been sent."""

    def __init__(self, port, requests):
        self.port = port
        self.requests = requests
        self.outcomes = []
        self.began = None  # on the clock of the event loop
        self._idle = []

    async def run(self):
        loop = asyncio.get_running_loop()
        self.began = loop.time()
        running = []
        for due, tokens, wire in self.requests:
            if (wait := self.began + due - loop.time()) > 0:
                await asyncio.sleep(wait)
            running.append(asyncio.create_task(self._one(due, tokens, wire)))
        _, missing = await asyncio.wait(running, timeout=PATIENCE)
        for task in missing:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for connection in self._idle:
            connection.transport.abort()

    async def _connection(self):
        while self._idle:
            connection = self._idle.pop()
            if not connection.transport.is_closing():
                return connection
        _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", self.port)
        return connection

    async def _one(self, due, tokens, wire):
        loop = asyncio.get_running_loop()
        outcome = Outcome(due, loop.time() - self.began, problem="unfinished")
        self.outcomes.append(outcome)
        try:
            connection = await self._connection()
            answer = await connection.ask(wire)
        except OSError as error:
            outcome.problem = f"connection: {error}"
            return
        outcome.problem = answer.problem(tokens)
        if answer.first is not None:
            outcome.first = answer.first - self.began
        if outcome.problem:
            connection.transport.abort()
        else:
            self._idle.append(connection)
