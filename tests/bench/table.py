"""The plain-text table: min, median and max over the rounds, of each value and of its ratio to the baseline."""

from statistics import median


def spread(values):
    return (min(values), median(values), max(values)) if values else None


def _number(value):
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}"


def _cells(values, width):
    if values is None:
        return " " * (3 * width)
    return "".join(_number(value).rjust(width) for value in values)


def ratios(values, baseline):
    """Per round, where both have a value and the baseline's is above zero."""
    return [v / b for v, b in zip(values, baseline) if v is not None and b is not None and b > 0]


def verdict(measure, values, ratio):
    if measure.goal is None:
        return ""
    goal = measure.goal
    judged = spread([v for v in values if v is not None]) if goal.kind == "value" else ratio
    if judged is None:
        return "not measured"
    sign = ">=" if goal.at_least else "<="
    return f"must {sign} {goal.must:g}, stretch {sign} {goal.stretch:g}: {goal.verdict(judged[1])}"


def print_table(measures, results, baseline, judged):
    """`results[measure.key][proxy]` lists one value, or None, a round. Goals are judged for proxy `judged`."""
    proxies = list(next(iter(results.values())))
    name = max(map(len, proxies)) + 2
    head = f"{'':{name + 2}}{'min':>11}{'median':>11}{'max':>11}    | ratio to {baseline}: min, median, max"
    print(head)
    for measure in measures:
        by_proxy = results[measure.key]
        print(f"{measure.title}{f' ({measure.unit})' if measure.unit else ''}")
        for proxy in proxies:
            values = by_proxy[proxy]
            seen = spread([v for v in values if v is not None])
            ratio = spread(ratios(values, by_proxy[baseline])) if proxy != baseline else None
            note = verdict(measure, values, ratio) if proxy == judged else ""
            line = f"  {proxy:{name}}{_cells(seen, 11)}    | {_cells(ratio, 8)}   {note}"
            print(line.rstrip(" |"))
