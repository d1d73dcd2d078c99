"""What one run of `smg-load` yields, and the goals: a row of the table is one Measure."""

from dataclasses import dataclass
from typing import Callable, Optional


@dataclass(frozen=True)
class Goal:
    must: float
    stretch: float
    kind: str = "ratio"  # "ratio": to the baseline; "value": of the measured value itself
    at_least: bool = False

    def verdict(self, median):
        def met(limit):
            return median >= limit if self.at_least else median <= limit

        return "stretch met" if met(self.stretch) else "met" if met(self.must) else "MISSED"


@dataclass(frozen=True)
class Measure:
    key: str
    title: str
    unit: str
    load: str  # key of the load that yields it
    value: Callable[[dict], Optional[float]]  # from the load's report
    goal: Optional[Goal] = None


def _cpu_us(count, parts=("user_s", "system_s"), who="proxy"):
    def value(report):
        cpu = report["watched"][who] if who != "load" else report["load_cpu"]
        return sum(cpu[part] for part in parts) * 1e6 / report[count] if report[count] else None

    return value


def _added_ms(quantile):
    return lambda report: report["latency_ms"][quantile] - report["direct"]["latency_ms"][quantile]


USER = ("user_s",)

PROXY_MEASURES = [
    Measure(
        "cpu_json_64", "CPU per JSON request, 64 connections", "us", "json_64", _cpu_us("requests"), Goal(1.00, 0.85)
    ),
    Measure(
        "cpu_json_512", "CPU per JSON request, 512 connections", "us", "json_512", _cpu_us("requests"), Goal(0.85, 0.65)
    ),
    Measure(
        "cpu_token_1000",
        "CPU per streamed token, 1,000 streams at 20 ms",
        "us",
        "stream_1000",
        _cpu_us("tokens"),
        Goal(0.95, 0.80),
    ),
    Measure(
        "cpu_token_5000",
        "CPU per streamed token, 5,000 streams at 200 ms",
        "us",
        "stream_5000",
        _cpu_us("tokens"),
        Goal(1.00, 0.92),
    ),
    Measure(
        "user_json_64",
        "user CPU per JSON request, 64 connections",
        "us",
        "json_64",
        _cpu_us("requests", USER),
        Goal(4, 2.5, "value"),
    ),
    Measure(
        "user_token_1000",
        "user CPU per streamed token, 1,000 streams at 20 ms",
        "us",
        "stream_1000",
        _cpu_us("tokens", USER),
        Goal(2, 1.2, "value"),
    ),
    Measure(
        "overload_rate",
        "tokens/s, 5,000 streams at 20 ms (overload)",
        "1/s",
        "overload",
        lambda r: r["whole_run"]["tokens_per_s"],
        Goal(0.9, 1.0, at_least=True),
    ),
    Measure(
        "overload_lag_p99",
        "token lag p99, 5,000 streams at 20 ms (overload)",
        "ms",
        "overload",
        lambda r: r["whole_run"]["lag_ms"]["p99"],
        Goal(1.0, 0.5),
    ),
    Measure(
        "overload_truncated",
        "streams cut short or not ended (overload)",
        "",
        "overload",
        lambda r: sum(r["errors"].values()),
        Goal(0, 0, "value"),
    ),
    Measure(
        "idle_memory",
        "resident memory per idle stream",
        "KiB",
        "idle",
        lambda r: r["bytes_per_stream"] / 1024,
        Goal(4, 2, "value"),
    ),
    Measure("rate_json_64", "requests/s, 64 connections", "1/s", "json_64", lambda r: r["requests_per_s"]),
    Measure("rate_json_512", "requests/s, 512 connections", "1/s", "json_512", lambda r: r["requests_per_s"]),
    Measure("added_p50", "added latency p50, open loop", "ms", "latency", _added_ms("p50")),
    Measure("added_p99", "added latency p99, open loop", "ms", "latency", _added_ms("p99")),
    Measure("lag_p99_1000", "token lag p99, 1,000 streams at 20 ms", "ms", "stream_1000", lambda r: r["lag_ms"]["p99"]),
    Measure(
        "lag_p99_5000", "token lag p99, 5,000 streams at 200 ms", "ms", "stream_5000", lambda r: r["lag_ms"]["p99"]
    ),
]

# The gateway with everything on that protects it, against itself without.
SAFETY_MEASURES = [
    Measure(
        "safe_json_64", "CPU per JSON request, 64 connections", "us", "json_64", _cpu_us("requests"), Goal(1.10, 1.05)
    ),
    Measure(
        "safe_json_512", "CPU per JSON request, 512 connections", "us", "json_512", _cpu_us("requests"), Goal(1.10, 1.05)
    ),
    Measure(
        "safe_token_1000",
        "CPU per streamed token, 1,000 streams at 20 ms",
        "us",
        "stream_1000",
        _cpu_us("tokens"),
        Goal(1.10, 1.05),
    ),
    Measure("safe_user_64", "user CPU per JSON request, 64 connections", "us", "json_64", _cpu_us("requests", USER)),
    Measure("safe_rate_64", "requests/s, 64 connections", "1/s", "json_64", lambda r: r["requests_per_s"]),
]

# What the bench itself costs: it shares the machine with what it measures.
BENCH_COST = [
    Measure("load_json_64", "load generator, CPU per JSON request", "us", "json_64", _cpu_us("requests", who="load")),
    Measure("load_token_1000", "load generator, CPU per token", "us", "stream_1000", _cpu_us("tokens", who="load")),
    Measure(
        "engine_json_64", "simulated engines, CPU per JSON request", "us", "json_64", _cpu_us("requests", who="engines")
    ),
    Measure(
        "engine_token_1000", "simulated engines, CPU per token", "us", "stream_1000", _cpu_us("tokens", who="engines")
    ),
]
