"""What an operator sees of a running gateway: its events, its view of a worker; and clients that watch their stream."""
import http.client
import json
import re
import socket
import threading

from support import DEADLINE, SLOW, chat, wait_for


class Events:
    """GET /events, read from now on by a thread: pairs of type and fields, in order."""

    def __init__(self, running, types):
        self.seen = []
        self.connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=120 * SLOW)
        self.connection.request("GET", f"/events?types={types}")
        self.response = self.connection.getresponse()
        assert self.response.status == 200
        # The subscription stands once its greeting is there.
        assert self.response.readline().startswith(b":")
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        kind = None
        try:
            for line in self.response:
                name, _, value = line.decode().strip().partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    self.seen.append((kind, json.loads(value)))
        except (OSError, http.client.HTTPException):
            pass

    def of(self, kind, url):
        return [fields for name, fields in list(self.seen) if name == kind and fields["worker"] == url]

    def wait(self, kind, url, skip=0, **wanted):
        """The first event of that kind with these fields, leaving out the first `skip` of the kind."""
        def found():
            matches = [each for each in self.of(kind, url)[skip:] if wanted.items() <= each.items()]
            return matches and matches[0]
        return wait_for(found, f"{kind} {wanted} of {url}", 3 * DEADLINE)


def shown(running, url):
    """The worker as GET /workers shows it, or None."""
    workers = json.loads(running.get("/workers")[2])["workers"]
    return next((worker for worker in workers if worker["url"] == url), None)


def becomes(running, name, value, deadline=3 * DEADLINE, **labels):
    have = [None]

    def equal():
        have[0] = running.metric(name, **labels)
        return have[0] == value
    try:
        wait_for(equal, "", deadline)
    except AssertionError:
        raise AssertionError(f"{name}{labels} is {have[0]}, not {value}") from None


class Stream:
    """A streamed chat whose bytes a thread collects. Ends `complete`, or with the failure that cut it."""

    def __init__(self, port, host="127.0.0.1", **fields):
        self.data, self.end = b"", None
        self.connection = http.client.HTTPConnection(host, port, timeout=120 * SLOW)
        self.connection.request("POST", "/v1/chat/completions", json.dumps(chat(stream=True, **fields)),
                                {"Content-Type": "application/json"})
        self.response = self.connection.getresponse()
        assert self.response.status == 200
        self.worker = self.response.headers["x-smg-routed-worker-id"]
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        try:
            while part := self.response.read1(1 << 16):
                self.data += part
            self.end = "complete"
        except (OSError, http.client.HTTPException) as failure:
            self.end = type(failure).__name__
        self.connection.close()

    def flows(self):
        """Waits until something arrives from here on."""
        have = len(self.data)
        wait_for(lambda: len(self.data) > have, f"more of the stream from {self.worker}")

    def leave(self):
        """Goes away in the middle."""
        self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join(DEADLINE)

    def result(self):
        self.thread.join(6 * DEADLINE)
        assert not self.thread.is_alive(), f"the stream from {self.worker} does not end"
        return self.end

    def text(self):
        """The bytes, without what differs from answer to answer."""
        return re.sub(rb'"(id|created)":("[^"]*"|\d+)', rb'"\1":0', self.data)
