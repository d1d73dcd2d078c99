"""Workloads of the suite `policies`: which request is due when, with what prompt. The same seed gives the same requests.

A text is made of words of three letters and a space, so that a word is a token of a simulated engine (four bytes). All of a
workload is made before it begins: whoever sends it has no work left that could delay a request."""

import json
import random
from dataclasses import dataclass
from itertools import accumulate, product
from typing import Optional

MODEL = "bench"
BLOCK = 64  # bytes of a KV block of 16 tokens
WORDS = ["".join(letters) + " " for letters in product("bcdfghklmnprstvz", "aeiou", "bcdfghklmnprstvz")]


@dataclass(frozen=True)
class Request:
    due: float  # seconds after the beginning
    messages: tuple  # of (role, text)
    tokens: int  # of the answer
    key: Optional[str] = None  # routing key, where a client would know one

    def wire(self):
        messages = [{"role": role, "content": text} for role, text in self.messages]
        body = json.dumps({"model": MODEL, "stream": True, "max_tokens": self.tokens, "messages": messages}).encode()
        key = f"X-SMG-Routing-Key: {self.key}\r\n" if self.key else ""
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: bench\r\n{key}Content-Type: application/json\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def prompt(self):
        """As an engine reads it."""
        return "".join(role + content for role, content in self.messages)


@dataclass(frozen=True)
class Workload:
    key: str
    title: str
    make: callable  # (seed, seconds) -> requests in the order of their time
    warmup: float  # seconds until what is measured begins
    window: float  # seconds of requests that are measured
    must_spread: bool = False  # no engine may get more than twice the mean


def text(chance, tokens):
    return "".join(chance.choices(WORDS, k=tokens))


def possible_hit_rate(requests, since):
    """Share of the prompts due from then on that one engine for all, with a cache without end, would have in it."""
    seen, hits, total = set(), 0, 0
    for request in requests:
        prompt = request.prompt()
        prefix, known = 0, True
        for at in range(0, len(prompt) - BLOCK + 1, BLOCK):
            prefix = hash((prefix, prompt[at : at + BLOCK]))
            # The last token of a prompt is always computed.
            known = known and prefix in seen and at + BLOCK < len(prompt)
            hits += BLOCK * (known and request.due >= since)
            seen.add(prefix)
        total += len(prompt) * (request.due >= since)
    return hits / total


def arrivals(chance, rate, begin, end):
    """Times of a Poisson process."""
    due = begin
    while (due := due + chance.expovariate(rate)) < end:
        yield due


# Conversations a second, turns of one, seconds between the turns, and tokens.
CHAT_STARTS, CHAT_TURNS, CHAT_THINK = 13.0, (4, 8), (1.0, 5.0)
CHAT_SYSTEMS, CHAT_SYSTEM, CHAT_USER, CHAT_ANSWER = 4, 600, (150, 450), 32


def chat(seed, seconds):
    """Conversations; a turn carries all turns before it. Their answers are made up here: what an engine says is no part of
    a prompt, and a turn is due at its time whatever became of the one before. Conversations that have begun before the
    beginning are in it with the rest of their turns."""
    chance = random.Random(f"chat {seed}")
    systems = [text(chance, CHAT_SYSTEM) for _ in range(CHAT_SYSTEMS)]
    requests = []
    for number, due in enumerate(arrivals(chance, CHAT_STARTS, -CHAT_TURNS[1] * CHAT_THINK[1], seconds)):
        messages = [("system", chance.choice(systems))]
        for _ in range(chance.randint(*CHAT_TURNS)):
            messages.append(("user", text(chance, chance.randint(*CHAT_USER))))
            if 0 <= due < seconds:
                requests.append(Request(due, tuple(messages), CHAT_ANSWER, f"conversation-{seed}-{number}"))
            messages.append(("assistant", text(chance, CHAT_ANSWER)))
            due += chance.uniform(*CHAT_THINK)
    return sorted(requests, key=lambda request: request.due)


DOCUMENTS, DOCUMENT_ZIPF, DOCUMENT_RATE = 120, 0.9, 50.0
DOCUMENT_TOKENS, DOCUMENT_QUESTION, DOCUMENT_ANSWER = (2000, 4000), (20, 60), 24


def documents(seed, seconds):
    """Questions about documents, of which some are much more popular than others."""
    chance = random.Random(f"documents {seed}")
    shelf = [text(chance, chance.randint(*DOCUMENT_TOKENS)) for _ in range(DOCUMENTS)]
    popularity = list(accumulate((rank + 1) ** -DOCUMENT_ZIPF for rank in range(DOCUMENTS)))
    return [
        Request(due, (("user", document + text(chance, chance.randint(*DOCUMENT_QUESTION))),), DOCUMENT_ANSWER)
        for due in arrivals(chance, DOCUMENT_RATE, 0, seconds)
        for document in chance.choices(shelf, cum_weights=popularity)
    ]


SYSTEM_LOW, SYSTEM_HIGH = 30.0, 130.0  # requests a second
SYSTEM_TOKENS, SYSTEM_TAIL, SYSTEM_ANSWER = 2000, (30, 120), 32


def system(rate):
    """One long system prompt common to all, short questions that have nothing in common."""

    def make(seed, seconds):
        chance = random.Random(f"system {rate} {seed}")
        prompt = text(chance, SYSTEM_TOKENS)
        return [
            Request(due, (("system", prompt), ("user", text(chance, chance.randint(*SYSTEM_TAIL)))), SYSTEM_ANSWER)
            for due in arrivals(chance, rate, 0, seconds)
        ]

    return make


WORKLOADS = [
    Workload("chat", "multi-turn chat", chat, 5, 10),
    Workload("documents", "questions about shared documents", documents, 5, 10),
    Workload("system_low", "one hot system prompt, low load", system(SYSTEM_LOW), 2, 6, must_spread=True),
    Workload("system_high", "one hot system prompt, high load", system(SYSTEM_HIGH), 2, 6, must_spread=True),
]
