"""Clients of the soak: each sends one request after the other and checks that the answer is the one to its request."""

import asyncio
import json
import random
from collections import Counter

PATIENCE = 60  # seconds until an answer counts as lost
SHED = "worker_overload_protection_shed"
CHAT = "/v1/chat/completions"


class WrongAnswer(Exception):
    """An answer that is not the one to the request, or not well-formed."""


class Clients:
    """`most` clients in one event loop; `level` of them send, the others rest."""

    def __init__(self, port, most):
        self.port = port
        self.most = most
        self.level = 0
        self.ended = False
        self.tally = Counter()  # requests by what became of them
        self.failures = Counter()  # of those that failed: status and code
        self.wrong = []  # sentences

    def sent(self):
        return sum(self.tally.values())

    async def run(self):
        await asyncio.gather(*(self.client(number) for number in range(self.most)))

    async def client(self, number):
        chance = random.Random(number)
        connection = None
        serial = 0
        while not self.ended:
            if number >= self.level:
                await asyncio.sleep(0.1)  # the pace of a load, not a wait for something
                continue
            serial += 1
            kind = chance.choices(("plain", "stream", "echo", "leave waiting", "leave streaming"), (40, 35, 15, 5, 5))[0]
            marker = f"<{number}:{serial}:{chance.getrandbits(64):x}>" + "x" * chance.randrange(64)
            try:
                if connection is None:
                    connection = await asyncio.open_connection("127.0.0.1", self.port)
                outcome, keep = await asyncio.wait_for(self.request(connection, kind, marker, chance), PATIENCE)
            except WrongAnswer as problem:
                outcome, keep = "wrong", False
                self.wrong.append(f"{kind} {marker}: {problem}")
            except (asyncio.TimeoutError, TimeoutError):
                outcome, keep = "lost", False
            except (OSError, asyncio.IncompleteReadError):
                outcome, keep = "cut", False
            self.tally[outcome] += 1
            if not keep and connection is not None:
                connection[1].transport.abort()
                connection = None
            if outcome == "shed":
                await asyncio.sleep(chance.uniform(0.1, 0.3))  # a client that comes back too soon
        if connection is not None:
            await self.nothing_more(connection)

    async def nothing_more(self, connection):
        """No second answer to a request comes after the first."""
        try:
            more = await asyncio.wait_for(connection[0].read(1), 0.5)
        except (asyncio.TimeoutError, TimeoutError):
            more = b""
        if more:
            self.wrong.append("bytes after the last answer")
        connection[1].transport.abort()

    async def request(self, connection, kind, marker, chance):
        reader, writer = connection
        streams = kind in ("stream", "leave streaming")
        value = {"model": "soak", "stream": streams, "max_tokens": 64, "messages": [{"role": "user", "content": marker}]}
        value |= {"sim_echo": True} if kind == "echo" else {"sim_text": marker, "sim_text_step": 4}
        body = json.dumps(value).encode()
        writer.write(
            b"POST %s HTTP/1.1\r\nHost: soak\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
            % (CHAT.encode(), len(body), body)
        )
        if kind == "leave waiting":
            await asyncio.sleep(chance.uniform(0, 0.1))  # how long this client is patient
            return "aborted", False
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        status = int(head.split(" ", 2)[1])
        headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
        if kind == "leave streaming" and status == 200:
            await reader.readuntil(b"\n\n")
            return "aborted", False
        answer = await self.body(reader, headers)
        keep = headers.get("connection") != "close"
        if status != 200:
            return self.refused(status, headers, answer), keep
        self.check(kind, marker, answer)
        return "completed", keep

    async def body(self, reader, headers):
        if "content-length" in headers:
            return await reader.readexactly(int(headers["content-length"]))
        if headers.get("transfer-encoding") != "chunked":
            raise WrongAnswer(f"no framing: {headers}")
        parts = []
        while size := int(await reader.readuntil(b"\r\n"), 16):
            parts.append((await reader.readexactly(size + 2))[:-2])
        await reader.readexactly(2)
        return b"".join(parts)

    def refused(self, status, headers, answer):
        code = headers.get("x-smg-error-code")
        if status == 503 and code == SHED:
            if "retry-after" not in headers or json.loads(answer)["error"]["code"] != SHED:
                raise WrongAnswer("a shed without Retry-After or its code")
            return "shed"
        self.failures[f"{status} {code}"] += 1
        return "failed"

    def check(self, kind, marker, answer):
        if kind == "echo":
            got = json.loads(json.loads(answer)["body"])["messages"][0]["content"]
        elif kind == "plain":
            got = json.loads(answer)["choices"][0]["message"]["content"]
        else:
            events = answer.decode().split("\n\n")
            if events[-2:] != ["data: [DONE]", ""]:
                raise WrongAnswer(f"a stream that ends in {events[-2:]}")
            choices = [json.loads(event.removeprefix("data: "))["choices"][0] for event in events[:-2]]
            got = "".join(choice["delta"].get("content") or "" for choice in choices)
        if got != marker:
            raise WrongAnswer(f"it got {got!r}")
