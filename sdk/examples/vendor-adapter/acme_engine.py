"""A simulated acme engine: python3 acme_engine.py --port 7070. Python's standard library is all it needs.

It speaks the protocol of README.md. An answer repeats the last words of its prompt, a word per token.
"""
import argparse
import asyncio
import json
import struct


class Engine:
    def __init__(self, options):
        self.options = options
        self.slots = asyncio.Semaphore(options.max_running)
        self.running = self.waiting = self.paused = 0
        self.watchers = set()

    def load(self):
        return {"op": "load", "running": self.running, "waiting": self.waiting, "paused": self.paused,
                "max_running": self.options.max_running,
                "kv_usage": min(1.0, (self.running + self.waiting) / (4 * self.options.max_running))}

    def changed(self):
        for watcher in self.watchers:
            watcher.set()


def words_of(request):
    """None: it has no prompt."""
    messages = request.get("messages") or [{}]
    prompt = request.get("prompt", messages[-1].get("content"))
    return None if prompt is None else str(prompt).split() or ["nothing"]


class Connection:
    """One gateway loop. Requests run at once, told apart by their id."""

    def __init__(self, engine, reader, writer):
        self.engine, self.reader, self.writer = engine, reader, writer
        self.jobs = {}     # id -> task
        self.running = {}  # id -> event that is set while the stream is not paused

    async def send(self, frame):
        data = json.dumps(frame).encode()
        self.writer.write(struct.pack(">I", len(data)) + data)
        await self.writer.drain()

    async def serve(self):
        watch = None
        try:
            while True:
                size, = struct.unpack(">I", await self.reader.readexactly(4))
                frame = json.loads(await self.reader.readexactly(size))
                op, number = frame["op"], frame.get("id")
                if op == "health":
                    await self.send({"op": "health", "id": number, "ok": True})
                elif op == "models":
                    await self.send({"op": "models", "id": number, "models": self.engine.options.model})
                elif op == "watch_load":
                    watch = asyncio.create_task(self.push_load(frame["interval_ms"] / 1000))
                elif op == "generate":
                    self.running[number] = asyncio.Event()
                    self.running[number].set()
                    self.jobs[number] = asyncio.create_task(self.generate(frame))
                elif number in self.jobs and op == "cancel":
                    self.jobs[number].cancel()
                elif number in self.running and op in ("pause", "resume"):
                    self.pause(number, op == "pause")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            for task in [*self.jobs.values(), *([watch] if watch else [])]:
                task.cancel()
            self.writer.close()

    def pause(self, number, paused):
        self.engine.paused += paused - (not self.running[number].is_set())
        (self.running[number].clear if paused else self.running[number].set)()
        self.engine.changed()

    async def push_load(self, interval):
        """At every change, and at least once per interval."""
        changed = asyncio.Event()
        self.engine.watchers.add(changed)
        try:
            while True:
                await self.send(self.engine.load())
                try:
                    await asyncio.wait_for(changed.wait(), interval)
                except asyncio.TimeoutError:
                    pass
                changed.clear()
        except ConnectionError:
            pass
        finally:
            self.engine.watchers.discard(changed)

    async def generate(self, request):
        engine, number = self.engine, request["id"]
        running = False
        engine.waiting += 1
        engine.changed()
        try:
            if request.get("model") and request["model"] not in engine.options.model:
                await self.send({"op": "error", "id": number, "code": "unknown_model", "message": f"no model {request['model']}"})
                return
            words = words_of(request)
            if words is None:
                await self.send({"op": "error", "id": number, "code": "bad_request", "message": "there is no prompt"})
                return
            async with engine.slots:
                running = True
                engine.waiting -= 1
                engine.running += 1
                engine.changed()
                limit = request.get("max_tokens") or len(words)
                for token in range(limit):
                    await asyncio.sleep(engine.options.token_ms / 1000)
                    await self.running[number].wait()
                    await self.send({"op": "token", "id": number, "text": words[token % len(words)] + " "})
                await self.send({"op": "done", "id": number, "reason": "length" if limit < len(words) else "stop",
                                 "prompt_tokens": len(words), "completion_tokens": limit})
        except ConnectionError:
            pass
        finally:
            self.pause(number, False)
            if running:
                engine.running -= 1
            else:
                engine.waiting -= 1
            del self.jobs[number], self.running[number]
            engine.changed()


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=7070, help="0: any that is free")
    parser.add_argument("--model", action="append", help="served model; may be given several times")
    parser.add_argument("--max-running", type=int, default=4, help="requests at once; the others wait")
    parser.add_argument("--token-ms", type=float, default=20, help="time per token of each request")
    options = parser.parse_args()
    options.model = options.model or ["acme-7b"]
    engine = Engine(options)

    async def connected(reader, writer):
        await Connection(engine, reader, writer).serve()

    server = await asyncio.start_server(connected, "127.0.0.1", options.port)
    print(f"ready: acme://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


asyncio.run(main())
