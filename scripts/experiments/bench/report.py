"""The bench's figures as tables: for a terminal, and as Markdown for the documentation. Pure."""

from collections.abc import Callable, Iterable, Sequence

from rich.table import Table

from scripts.experiments.bench.results import ChainFigures, LoadResults, Report, hops_cpu, total
from scripts.experiments.harness.percentiles import Spread
from scripts.experiments.harness.rating import complaint
from scripts.experiments.harness.runs import Run, chain_cpu
from scripts.local.processes.profile import SideProfile

Rows = tuple[Sequence[str], list[list[str]]]
"""Column heads, and cells."""


def spread_text(found: Spread | None, digits: int = 0) -> str:
    """`median (lowest to highest)`; a dash without values."""
    if found is None:
        return "-"
    median, lowest, highest = (
        f"{value:,.{digits}f}" for value in (found.median, found.lowest, found.highest)
    )
    return median if lowest == highest else f"{median} ({lowest} to {highest})"


def lag_rows(targets: Iterable[ChainFigures]) -> Rows:
    """One row for each chain and load: lags, losses and cost."""
    heads = (
        "load", "chain", "acked/s", "p50 ms", "p95 ms", "p99 ms", "lost", "duplicated",
        "hops: CPU s per million", "chain: CPU s per million", "generator late ms (p99)",
    )  # fmt: skip
    pairs = [(phase, target.name) for target in targets for phase in all_phases(target)]
    order = list(dict.fromkeys(phase.load.label for phase, _ in pairs))
    pairs.sort(key=lambda pair: order.index(pair[0].load.label))
    return heads, [_lag_row(phase, name) for phase, name in pairs]


def all_phases(target: ChainFigures) -> list[LoadResults]:
    """The results of each load, and the rating's last hold as one more."""
    held = [run for run in target.rating.runs if run.load.rate == target.rating.rate] if target.rating else []
    return [*target.phases, *(LoadResults(load=held[-1].load, runs=held[-1:]) for _ in held[-1:])]


def _lag_row(phase: LoadResults, name: str) -> list[str]:
    return [
        phase.load.label,
        name,
        spread_text(phase.over(lambda run: run.acked_rate)),
        *(spread_text(phase.over(figure)) for figure in (_p50, _p95, _p99)),
        str(total(phase.runs, lambda run: run.lost)),
        str(total(phase.runs, lambda run: run.duplicated)),
        spread_text(phase.over(_hops_cpu)),
        spread_text(phase.over(_chain_cpu)),
        spread_text(phase.over(lambda run: run.sent.slip_p99_ms)),
    ]


def _p50(run: Run) -> float | None:
    return run.lag.p50 if run.lag else None


def _p95(run: Run) -> float | None:
    return run.lag.p95 if run.lag else None


def _p99(run: Run) -> float | None:
    return run.lag.p99 if run.lag else None


def _hops_cpu(run: Run) -> float:
    return hops_cpu(run.cpu_per_million)


def _chain_cpu(run: Run) -> float:
    return chain_cpu(run.cpu_per_million)


def cpu_rows(targets: Sequence[ChainFigures]) -> Rows:
    """CPU seconds per million events by process, and percent of a core when idle."""
    columns: list[tuple[str, dict[str, float]]] = []
    for target in targets:
        columns.append((f"{target.name}, idle, % of a core", target.idle))
        columns.extend((f"{target.name}, {phase.load.label}", phase.cpu()) for phase in all_phases(target))
    names = sorted({name for _, cells in columns for name in cells})
    rows = [
        [name, *(f"{cells[name]:,.1f}" if name in cells else "" for _, cells in columns)] for name in names
    ]
    for name, figure in (("three hops", hops_cpu), ("chain", chain_cpu)):
        rows.append([name, *(f"{figure(cells):,.1f}" for _, cells in columns)])
    return ("process", *(head for head, _ in columns)), rows


def ratio_rows(targets: Sequence[ChainFigures]) -> Rows:
    """Ratios of hifi to the baseline at the same load: lag and cost."""
    heads = ("load", "p50", "p95", "p99", "CPU of the hops", "CPU of the chain")
    if len(targets) < 2:
        return heads, []
    theirs = {phase.load.label: phase for phase in all_phases(targets[1])}
    rows = []
    for phase in all_phases(targets[0]):
        other = theirs.get(phase.load.label)
        if other:
            figures = (_p50, _p95, _p99, _hops_cpu, _chain_cpu)
            rows.append([phase.load.label, *(_ratio(phase, other, figure) for figure in figures)])
    return heads, rows


def _ratio(ours: LoadResults, theirs: LoadResults, figure: Callable[[Run], float | None]) -> str:
    one, two = ours.over(figure), theirs.over(figure)
    return f"{one.median / two.median:.1f}x" if one and two and two.median else "-"


def summary(report: Report) -> list[str]:
    """Sentences about the programs of hifi's side, readiness, first minute, idle cost and rating."""
    meter = "with" if report.parts is SideProfile.ALL else "without"
    return [f"hifi: {meter} the meter", *(line for target in report.targets for line in _sentences(target))]


def _sentences(target: ChainFigures) -> Iterable[str]:
    yield f"{target.name}: ready after {target.ready_seconds:.0f} s"
    if run := target.first_minute:
        p95 = f"{run.lag.p95:.0f} ms" if run.lag else "none"
        when = f"first {run.load.seconds:.0f} s after ready at {run.load.label}"
        yield f"{target.name}: {when}: p95 {p95}, lost {run.lost}"
    yield f"{target.name}: idle {sum(target.idle.values()):.0f} % of one core for everything"
    if target.rating:
        note = ", search cut short" if target.rating.cut_short else ""
        yield f"{target.name}: rating {target.rating.rate:,} events/s{note}"
        for trial, run in zip(target.rating.trials, target.rating.runs, strict=True):
            yield f"{target.name}: {trial.length} {trial.rate:,}/s: {complaint(run) or _held(run)}"


def _held(run: Run) -> str:
    return f"held, p95 {run.lag.p95:.0f} ms" if run.lag else "held"


def tables(report: Report) -> list[tuple[str, Rows]]:
    """All tables, each with its title."""
    found = [
        ("End to end, median (lowest to highest) of the runs", lag_rows(report.targets)),
        ("CPU seconds per million events", cpu_rows(report.targets)),
        ("hifi against the yardstick", ratio_rows(report.targets)),
    ]
    return [(title, rows) for title, rows in found if rows[1]]


def rich_table(title: str, rows: Rows) -> Table:
    """A table for the terminal."""
    table = Table(title=title)
    for number, head in enumerate(rows[0]):
        table.add_column(head, justify="left" if number == 0 else "right")
    for cells in rows[1]:
        table.add_row(*cells)
    return table


def markdown(report: Report) -> str:
    """The report as a section of the documentation."""
    machine = report.machine
    lines = [
        f"Measured {report.started[:10]} on {machine.cores} cores ({machine.cpu}), "
        f"{machine.memory_gib:g} GiB, {machine.system}; Python {machine.python}, Java {machine.java}, "
        f"Kafka {machine.kafka}, Spark {machine.spark}. Brokers, load and destination included.",
        "",
        *(f"- {line}" for line in summary(report)),
    ]
    for title, rows in tables(report):
        lines += ["", f"**{title}**", "", *_markdown_table(rows)]
    return "\n".join(lines) + "\n"


def _markdown_table(rows: Rows) -> list[str]:
    heads, cells = rows
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return [f"| {' | '.join(row)} |" for row in (heads, rule, *cells)]
