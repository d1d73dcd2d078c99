"""A worker whose network swallows every packet, as a pulled cable does: nothing is refused, nothing is reset, nothing ends."""
import contextlib
import os
import subprocess

import pytest

from engines import Engine, routed_to, straight, stream_to_each
from observe import Events, becomes, shown
from support import SLOW, Gateway, wait_for

EXTRA = """
[load_monitor]
interval_secs = 1
[circuit_breaker]
failure_threshold = 1
success_threshold = 1
timeout_duration_secs = 1
[health_check]
check_interval_secs = 1
timeout_secs = 1
failure_threshold = 5
success_threshold = 2
[transport.http]
connect_timeout_secs = 1
"""


class Network:
    """A namespace with one address that the rest of the machine reaches over a cable that can be cut."""

    def __init__(self, undo):
        self.name = f"smg-{os.getpid()}"
        # 198.18.0.0/15 is set aside for measurements; a /30 of our own.
        base = os.getpid() % 16384 * 4
        self.here, self.there = (f"198.18.{base >> 8}.{(base & 255) + host}" for host in (1, 2))
        cable = f"smg{os.getpid() % 1000000}"
        self.ip("netns", "add", self.name)
        undo.callback(self.ip, "netns", "del", self.name)
        self.ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        undo.callback(subprocess.run, ["ip", "link", "del", cable], capture_output=True)
        self.ip("address", "add", f"{self.here}/30", "dev", cable)
        self.ip("link", "set", cable, "up")
        self.inside("address", "add", f"{self.there}/30", "dev", "eth0")
        self.inside("link", "set", "eth0", "up")

    def ip(self, *arguments):
        result = subprocess.run(["ip", *arguments], capture_output=True, text=True)
        if result.returncode != 0:
            raise PermissionError(f"ip {' '.join(arguments)}: {result.stderr.strip()}")

    def inside(self, *arguments):
        self.ip("-n", self.name, *arguments)

    def cut(self):
        # Drops what leaves, and what comes from where nothing may be sent back to.
        self.inside("route", "add", "blackhole", f"{self.here}/32")

    def mend(self):
        self.inside("route", "del", "blackhole", f"{self.here}/32")


@pytest.fixture
def network():
    with contextlib.ExitStack() as undo:
        try:
            made = Network(undo)
        except (PermissionError, FileNotFoundError) as reason:
            pytest.skip(f"network namespaces are needed: {reason}")
        yield made


def test_a_black_hole_costs_a_timeout_at_most_and_its_worker_comes_back(network):
    with Engine("--host", network.there, prefix=("ip", "netns", "exec", network.name)) as victim, Engine() as two:
        assert network.there in victim.url
        expected = straight(two, 60)
        with Gateway([victim, two], loops=1, server=f"request_timeout_secs = {3 * SLOW}", extra=EXTRA) as running:
            events = Events(running, "worker_status,no_report")
            lost, other = stream_to_each(running.port, [victim, two], 60)
            wait_for(lambda: "engine_load" in shown(running, victim.url), "a load report")
            network.cut()
            assert other.result() == "complete" and other.text() == expected

            assert routed_to(running, 2) == {two.url}
            assert running.metric("smg_worker_retries_total") == 1
            assert running.metric("smg_router_upstream_responses_total", status_code="504", error_code="call_upstream_timeout") == 1
            assert running.metric("smg_worker_cb_transitions_total", worker=victim.url, **{"from": "closed", "to": "open"}) == 1
            assert lost.result() in ("ConnectionResetError", "IncompleteRead")
            assert 0 < len(lost.data) < len(expected) and b"[DONE]" not in lost.data
            assert running.metric("smg_router_responses_cut_total") == 1

            events.wait("no_report", victim.url, cause="timeout")
            assert running.metric("smg_load_reports_total", result="timeout") >= 1
            events.wait("worker_status", victim.url, before="ready", after="not_ready")
            becomes(running, "smg_worker_health", 0, worker=victim.url)
            becomes(running, "smg_load_report_age_seconds", -1, worker=victim.url)
            assert shown(running, victim.url)["status"] == "not_ready"
            retries = running.metric("smg_worker_retries_total")
            assert routed_to(running) == {two.url}
            assert running.metric("smg_worker_retries_total") == retries

            network.mend()
            events.wait("worker_status", victim.url, before="not_ready", after="ready")
            wait_for(lambda: "engine_load" in shown(running, victim.url), "a load report")
            wait_for(lambda: victim.url in routed_to(running, 2), "the worker to be used again")
            becomes(running, "smg_worker_cb_state", 0, worker=victim.url)
            assert running.metric("smg_worker_stall_transitions_total") == 0
