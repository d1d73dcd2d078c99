"""How many requests run at once, who waits, and what those are told who may not: limiter and priority scheduler."""
import json
import re
import selectors
import socket
import struct
import subprocess
import threading
import time

import pytest
from engines import Engine
from observe import becomes
from support import DEADLINE, ENV, SLOW, SMG, Gateway, Worker, chat, dial, gateway, post_bytes, wait_for


def admission(limit, **keys):
    return f"[admission]\nmax_concurrent_requests = {limit}\n" + "".join(f"{key} = {value}\n" for key, value in keys.items())


class Hold:
    """A worker's script that keeps requests until they are let go, in the order of their coming."""

    def __init__(self):
        self.lock = threading.Condition()
        self.came, self.allowed = [], 0

    def __call__(self, connection, request):
        with self.lock:
            number = len(self.came)
            self.came.append(request.json()["messages"][0]["content"])
            self.lock.notify_all()
            assert self.lock.wait_for(lambda: self.allowed > number, 6 * DEADLINE)
        connection.answer()

    def arrived(self, count):
        wait_for(lambda: len(self.came) >= count, f"{count} requests at the worker, there are {len(self.came)}", 3 * DEADLINE)

    def let_go(self, count=1):
        with self.lock:
            self.allowed += count
            self.lock.notify_all()


class Client:
    """One request on a connection of its own, whose answer is read when it is asked for."""

    def __init__(self, running, content="hi", headers="", stream=False):
        self.sock = dial(running.port, 6 * DEADLINE)
        self.sock.sendall(post_bytes(json.dumps(chat(content=content, stream=stream)).encode(), headers=headers))
        self.data = b""

    def until(self, enough):
        while not enough(self.data):
            part = self.sock.recv(1 << 16)
            if not part:
                break
            self.data += part
        return self.data

    def head(self):
        """Status and headers, in small letters."""
        head = self.until(lambda data: b"\r\n\r\n" in data).split(b"\r\n\r\n")[0].decode().lower()
        lines = head.split("\r\n")
        return int(lines[0].split(" ")[1]), dict(line.split(": ", 1) for line in lines[1:])

    def answer(self):
        """Status, headers and body of an answer with a length."""
        status, headers = self.head()
        length = int(headers["content-length"])
        body = self.until(lambda data: len(data.split(b"\r\n\r\n", 1)[1]) >= length).split(b"\r\n\r\n", 1)[1]
        self.sock.close()
        return status, headers, body

    def refusal(self):
        status, headers, body = self.answer()
        error = json.loads(body)["error"]
        assert headers["x-smg-error-code"] == error["code"]
        return status, error["code"], headers["retry-after"]

    def has_answer(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self.sock, selectors.EVENT_READ)
            return bool(selector.select(0))

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


def waits(running, count):
    becomes(running, "smg_admission_queue_depth", count)


def runs(running, count):
    becomes(running, "smg_admission_inflight", count)


def test_of_500_requests_on_a_capacity_of_16_with_a_queue_of_64_exactly_80_are_served():
    hold = Hold()
    with gateway(hold, extra=admission(16, queue_size=64)) as (running, worker):
        clients = [Client(running) for _ in range(500)]
        refused = []

        def all_others_refused():
            refused[:] = [client for client in clients if client.has_answer()]
            return len(refused) >= 420
        wait_for(all_others_refused, "420 refusals", 6 * DEADLINE)
        assert {client.refusal() for client in refused} == {(429, "admission_queue_full", "2")}
        hold.arrived(16)
        waits(running, 64)
        runs(running, 16)
        assert len(hold.came) == 16
        hold.let_go(80)
        served = [client for client in clients if client not in refused]
        assert [client.answer()[0] for client in served] == [200] * 80
        assert len(worker.requests) == 80
        assert running.metric("smg_http_rate_limit_total", result="allowed") == 80
        assert running.metric("smg_http_rate_limit_total", result="rejected") == 420
        assert running.metric("smg_admission_queue_rejected_total", reason="full") == 420
        assert running.metric("smg_admission_queue_rejected_total", reason="timeout") == 0
        assert running.metric("smg_http_responses_total", status_code="429", error_code="admission_queue_full") == 420
        assert running.metric("smg_http_responses_total", status_code="200", path="/v1/chat/completions") == 80
        waits(running, 0)
        runs(running, 0)


def test_waiters_are_served_in_the_order_of_their_coming_whichever_loop_they_are_on():
    hold = Hold()
    with gateway(hold, extra=admission(1), loops=3) as (running, _):
        clients = [Client(running, "0")]
        hold.arrived(1)
        for number in range(1, 16):
            clients.append(Client(running, str(number)))
            waits(running, number)
        hold.let_go(16)
        assert [client.answer()[0] for client in clients] == [200] * 16
        assert hold.came == [str(number) for number in range(16)]


def test_without_a_queue_what_finds_no_room_is_refused_and_open_routes_are_not():
    hold = Hold()
    with gateway(hold, extra=admission(1, queue_size=0)) as (running, _):
        first = Client(running)
        hold.arrived(1)
        assert Client(running).refusal() == (429, "admission_queue_full", "2")
        assert running.metric("smg_admission_queue_rejected_total") == 0
        for path in ("/health", "/readiness", "/workers", "/v1/models"):
            assert running.get(path)[0] == 200
        hold.let_go()
        assert first.answer()[0] == 200


def test_a_wait_that_is_too_long_ends_with_503():
    hold = Hold()
    with gateway(hold, extra=admission(1, queue_timeout_secs=1)) as (running, worker):
        first = Client(running)
        hold.arrived(1)
        begun = time.monotonic()
        assert Client(running).refusal() == (503, "admission_queue_timeout", "2")
        assert time.monotonic() - begun >= 1
        assert running.metric("smg_admission_queue_rejected_total", reason="timeout") == 1
        assert running.metric("smg_http_rate_limit_total", result="rejected") == 1
        hold.let_go()
        assert first.answer()[0] == 200
        assert len(worker.requests) == 1


def test_cancelled_waiters_leave_no_trace():
    hold = Hold()
    with gateway(hold, extra=admission(1, queue_size=50)) as (running, worker):
        first = Client(running, "first")
        hold.arrived(1)
        waiters = [Client(running, "gone") for _ in range(50)]
        waits(running, 50)
        for number, client in enumerate(waiters):
            client.reset() if number % 2 else client.sock.close()
        waits(running, 0)
        last = Client(running, "last")
        waits(running, 1)
        hold.let_go(2)
        assert first.answer()[0] == last.answer()[0] == 200
        assert hold.came == ["first", "last"]
        assert running.metric("smg_http_rate_limit_total", result="allowed") == 2
        assert running.metric("smg_http_rate_limit_total", result="rejected") == 0
        runs(running, 0)


@pytest.mark.timeout(120 * SLOW)
def test_after_ten_thousand_cancels_the_full_capacity_is_there():
    with Engine("--max-running", "64") as engine, Gateway([engine], extra=admission(16, queue_size=500)) as running:
        engine.order("/config", paused=True)
        for _ in range(20):
            clients = [Client(running) for _ in range(500)]
            waits(running, 484)
            for number, client in enumerate(clients):
                client.reset() if number % 2 else client.sock.close()
            waits(running, 0)
            runs(running, 0)
        wait_for(lambda: engine.state()["running"] + engine.state()["waiting"] == 0, "the engine to be told", 3 * DEADLINE)
        before = engine.state()["requests"]
        clients = [Client(running) for _ in range(17)]
        waits(running, 1)
        runs(running, 16)
        wait_for(lambda: engine.state()["requests"] == before + 16, "16 at the engine", 3 * DEADLINE)
        engine.order("/config", paused=False)
        assert [client.answer()[0] for client in clients] == [200] * 17
        becomes(running, "smg_http_connections_active", 0)


def test_the_body_of_a_request_that_waits_is_not_read():
    size = 48 << 20
    hold = Hold()
    with gateway(hold, extra=admission(1)) as (running, worker):
        first = Client(running, "first")
        hold.arrived(1)
        body = json.dumps(chat(content="x" * size)).encode()
        request, sent = memoryview(post_bytes(body)), 0
        with dial(running.port, 6 * DEADLINE) as sock, selectors.DefaultSelector() as selector:
            sock.setblocking(False)
            selector.register(sock, selectors.EVENT_WRITE)
            while selector.select(0.3 * SLOW):
                sent += sock.send(request[sent:sent + (1 << 20)])
            # What the kernel holds for both sides, and the little that the gateway reads ahead.
            assert sent < size / 2
            waits(running, 1)
            sock.setblocking(True)
            hold.let_go(2)
            sock.sendall(request[sent:])
            assert sock.recv(12) == b"HTTP/1.1 200"
        assert first.answer()[0] == 200
        assert len(worker.requests[1].body) == len(body)


def test_a_stream_holds_its_permit_to_the_end():
    ends = threading.Event()

    def script(connection, request):
        connection.start_stream()
        connection.event("one")
        if request.json()["messages"][0]["content"] == "first":
            assert ends.wait(6 * DEADLINE)
        connection.end_stream()

    with gateway(script, extra=admission(1)) as (running, worker):
        first = Client(running, "first", stream=True)
        first.until(lambda data: b"data: one" in data)
        second = Client(running, "second", stream=True)
        waits(running, 1)
        assert len(worker.requests) == 1
        ends.set()
        for client in (first, second):
            assert client.until(lambda data: data.endswith(b"0\r\n\r\n")).startswith(b"HTTP/1.1 200")
            client.sock.close()
        runs(running, 0)


def test_requests_of_one_connection_give_their_permit_back_one_after_the_other():
    with gateway(lambda connection, request: connection.answer(), extra=admission(1, queue_size=0)) as (running, worker):
        body = post_bytes(json.dumps(chat()).encode())
        with dial(running.port) as sock:
            sock.sendall(body * 20)  # pipelined
            data = b""
            while data.count(b"HTTP/1.1 200 OK") < 20:
                part = sock.recv(1 << 16)
                assert part, data
                data += part
        assert len(worker.requests) == 20
        runs(running, 0)


def test_a_rate_lets_waiters_in_while_others_run():
    hold = Hold()
    with gateway(hold, extra=admission(1, rate_limit_tokens_per_second=2)) as (running, _):
        begun = time.monotonic()
        clients = [Client(running) for _ in range(4)]
        hold.arrived(4)
        assert time.monotonic() - begun >= 1.4  # three more tokens, but for the time that the first took
        hold.let_go(4)
        assert [client.answer()[0] for client in clients] == [200] * 4


def test_limits_change_while_requests_wait():
    hold = Hold()
    with gateway(hold, extra=admission(1)) as (running, _):
        clients = [Client(running) for _ in range(5)]
        waits(running, 4)

        def reload(limit):
            text = running.config.read_text()
            running.config.write_text(re.sub(r"max_concurrent_requests = \S+", f"max_concurrent_requests = {limit}", text))
            status, _, body = running.request("POST", "/config/reload")
            assert status == 200
            return json.loads(body)
        assert "admission.max_concurrent_requests" in json.dumps(reload(3))
        hold.arrived(3)
        waits(running, 2)
        reload(-1)
        hold.arrived(5)
        waits(running, 0)
        hold.let_go(5)
        assert [client.answer()[0] for client in clients] == [200] * 5
        runs(running, 0)


# ---- Priority scheduler.

NAMES = ("bulk", "default", "interactive", "system")


def scheduler(worker, capacity, highest="system", **of_all):
    """Its tables, and a worker whose label says the capacity."""
    keys = {"reserved_floor": 0, "queue_size": 50, "queue_timeout_secs": 60, "starvation_threshold_secs": 60, "can_preempt": "false", **of_all}
    text = f'[priority_scheduler]\nenabled = true\ndefault_max_class = "{highest}"\n'
    for name in NAMES:
        text += f"[priority_scheduler.classes.{name}]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items())
    return text + f'[[worker]]\nurl = "{worker.url}"\nlabels = {{ max_running_requests = "{capacity}" }}\n'


def priority(name):
    return f"x-smg-priority: {name}\r\n"


class Scheduled:
    def __init__(self, script, capacity, **options):
        self.worker = Worker(script)
        self.running = Gateway([], extra=scheduler(self.worker, capacity, **options), ready=False)
        try:
            self.running.wait_ready(1)
        except BaseException:
            self.running.__exit__(AssertionError)
            raise

    def client(self, name, content="hi", **options):
        return Client(self.running, content, headers=priority(name), **options)

    def admits(self, name, outcome, count):
        becomes(self.running, "smg_scheduler_admit_total", count, **{"class": name, "outcome": outcome})

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.running.__exit__(*failure)
        self.worker.__exit__()


def parked(desk, count):
    """Requests that have begun and have no worker: they wait at admission."""
    wait_for(lambda: desk.running.metric("smg_http_connections_active") >= count + len(desk.worker.requests), f"{count} that wait")


def test_the_highest_class_that_waits_is_served_first():
    hold = Hold()
    with Scheduled(hold, 1) as desk:
        clients = [desk.client("default", "first")]
        hold.arrived(1)
        for number, name in enumerate(("bulk", "default", "interactive", "system"), 1):
            clients.append(desk.client(name, name))
            parked(desk, number)
        for count in range(1, 6):
            hold.let_go()
            clients[(0, 4, 3, 2, 1)[count - 1]].answer()
        assert hold.came == ["first", "system", "interactive", "default", "bulk"]
        desk.admits("bulk", "admitted", 1)
        desk.admits("default", "admitted", 2)


def test_a_class_that_waits_too_long_or_in_vain_is_told_so():
    hold = Hold()
    with Scheduled(hold, 1, queue_size=1, queue_timeout_secs=1) as desk:
        first = desk.client("default")
        hold.arrived(1)
        waiter = desk.client("bulk")
        parked(desk, 1)
        assert desk.client("bulk").refusal() == (429, "scheduler_queue_full", "2")
        assert waiter.refusal() == (503, "scheduler_queue_timeout", "2")
        desk.admits("bulk", "rejected_queue_full", 1)
        desk.admits("bulk", "rejected_queue_timeout", 1)
        gone = desk.client("bulk")
        parked(desk, 1)
        gone.reset()
        desk.admits("bulk", "client_cancelled", 1)
        hold.let_go()
        assert first.answer()[0] == 200


def test_a_starved_class_is_let_in_before_higher_ones():
    hold = Hold()
    with Scheduled(hold, 1, starvation_threshold_secs=1) as desk:
        first = desk.client("default", "first")
        hold.arrived(1)
        bulk = desk.client("bulk", "bulk")
        parked(desk, 1)
        begun = time.monotonic()
        wait_for(lambda: time.monotonic() - begun > 1.1, "the threshold")
        system = desk.client("system", "system")
        parked(desk, 2)
        hold.let_go(3)
        assert [client.answer()[0] for client in (first, bulk, system)] == [200] * 3
        assert hold.came == ["first", "bulk", "system"]
        assert desk.running.metric("smg_scheduler_starvation_promotion_total", **{"class": "bulk"}) == 1


def test_the_newest_of_the_lowest_class_makes_room_for_a_higher_one():
    hold = Hold()
    seen = {}

    def script(connection, request):
        content = request.json()["messages"][0]["content"]
        if content == "newest":
            hold.came.append(content)
            seen["closed"] = connection.wait_closed(6 * DEADLINE)
        else:
            hold(connection, request)

    with Scheduled(script, 2, can_preempt="true") as desk:
        oldest = desk.client("bulk", "oldest")
        hold.arrived(1)
        newest = desk.client("bulk", "newest")
        hold.arrived(2)
        urgent = desk.client("interactive", "urgent")
        status, headers, body = newest.answer()
        assert (status, json.loads(body)["error"]["code"], headers["retry-after"]) == (503, "scheduler_preempted", "1")
        assert headers["x-smg-preempted"] == "true"
        hold.arrived(3)
        hold.let_go(3)
        assert oldest.answer()[0] == urgent.answer()[0] == 200
        assert hold.came == ["oldest", "newest", "urgent"]
        assert wait_for(lambda: "closed" in seen, "the victim's engine to be told") and seen["closed"] is not None
        labels = {"victim_class": "bulk", "by_class": "interactive"}
        assert desk.running.metric("smg_scheduler_preemption_total", **labels) == 1
        desk.admits("bulk", "preempted", 1)
        desk.admits("interactive", "admitted", 1)


def test_a_stream_that_is_preempted_after_its_head_ends_empty():
    def script(connection, request):
        connection.start_stream()
        if request.json()["messages"][0]["content"] == "victim":
            connection.wait_closed(6 * DEADLINE)
        else:
            connection.event("one")
            connection.end_stream()

    with Scheduled(script, 1, can_preempt="true") as desk:
        victim = desk.client("bulk", "victim", stream=True)
        assert victim.head()[0] == 200
        urgent = desk.client("system", "urgent", stream=True)
        assert urgent.until(lambda data: data.endswith(b"0\r\n\r\n")).startswith(b"HTTP/1.1 200")
        whole = victim.until(lambda data: data.endswith(b"0\r\n\r\n"))
        assert whole.split(b"\r\n\r\n", 1)[1] == b"0\r\n\r\n"
        victim.sock.close()
        urgent.sock.close()


def test_from_its_first_byte_on_a_stream_is_immune():
    ends = threading.Event()

    def script(connection, request):
        connection.start_stream()
        connection.event("one")
        if request.json()["messages"][0]["content"] == "first":
            assert ends.wait(6 * DEADLINE)
            connection.event("two")
        connection.end_stream()

    with Scheduled(script, 1, can_preempt="true") as desk:
        first = desk.client("bulk", "first", stream=True)
        first.until(lambda data: b"data: one" in data)
        urgent = desk.client("system", "urgent", stream=True)
        parked(desk, 1)
        ends.set()
        assert b"data: two" in first.until(lambda data: data.endswith(b"0\r\n\r\n"))
        assert urgent.until(lambda data: data.endswith(b"0\r\n\r\n")).startswith(b"HTTP/1.1 200")
        assert desk.running.metric("smg_scheduler_preemption_total") == 0
        first.sock.close()
        urgent.sock.close()


def test_no_request_is_above_the_highest_class_of_its_tenant():
    with Scheduled(lambda connection, request: connection.answer(), 4, highest="default") as desk:
        assert desk.client("system").answer()[0] == 200
        assert desk.client("nonsense").answer()[0] == 200
        desk.admits("default", "admitted", 2)
        tenant = "ip:127.0.0.1"
        labels = {"tenant": tenant, "requested_class": "system", "effective_class": "default"}
        assert desk.running.metric("smg_scheduler_clamp_total", **labels) == 1
        assert desk.running.metric("smg_scheduler_unknown_priority_value_total", tenant=tenant) == 1


def test_a_scheduler_that_cannot_start_leaves_its_place_to_the_limiter():
    hold = Hold()
    extra = admission(2, queue_size=0) + "[priority_scheduler]\nenabled = true\n"
    with gateway(hold, extra=extra) as (running, _):
        clients = [Client(running) for _ in range(2)]
        hold.arrived(2)
        assert Client(running).refusal() == (429, "admission_queue_full", "2")
        hold.let_go(2)
        assert [client.answer()[0] for client in clients] == [200] * 2
        assert "priority scheduler: the classes reserve room for" in running.log_path.read_text()


@pytest.mark.parametrize("name", ["classes.yaml", "classes.yml"])
def test_a_yaml_file_is_refused_with_a_hint(name, tmp_path):
    done = subprocess.run([SMG, "launch", "--priority-scheduler-config", tmp_path / name], capture_output=True, text=True, env=ENV, timeout=DEADLINE)
    assert done.returncode != 0
    assert "this version reads TOML" in done.stdout + done.stderr
