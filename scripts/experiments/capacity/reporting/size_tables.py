"""Tables of sizes and dollars. Pure."""

from collections.abc import Sequence

from scripts.experiments.capacity.model import per_million
from scripts.experiments.capacity.points import OUTSIDE, DocumentedCost, Facts
from scripts.experiments.capacity.prediction import SizedRate
from scripts.experiments.capacity.reporting.text_tables import TableOf


def size_table(sizes: Sequence[SizedRate], facts: Facts) -> TableOf:
    """Partitions, cores, workers and brokers by rate, beside the estimate of the infrastructure."""
    documented = {cost.rate: cost for cost in facts.documented}
    columns = [_size_cells(each, documented.get(each.size.rate)) for each in sizes]
    return TableOf(
        title="A side that holds a rate",
        heads=("", *(f"{each.size.rate:,.0f}/s" for each in sizes)),
        rows=[[name, *(column[name] for column in columns)] for name in columns[0]],
    )


def _size_cells(sized: SizedRate, documented: DocumentedCost | None) -> dict[str, str]:
    size = sized.size
    least = {part: cores for part, cores in size.cores_least.items() if part != OUTSIDE}
    most = {part: cores for part, cores in size.cores_most.items() if part != OUTSIDE}
    low, high = per_million(least, size.rate), per_million(most, size.rate)
    return {
        "partitions of each busy topic": str(size.partitions),
        "cores in use": f"{sum(least.values()):.1f} to {sum(most.values()):.1f}",
        **{f"CPU s per million, {part}": f"{low[part]:.1f} to {high[part]:.1f}" for part in most},
        "workers to hold it by CPU": str(size.workers.held),
        "workers at the autoscaler's target": str(size.workers.scaled),
        "workers for the partitions' slots": str(size.workers.slots),
        "worker nodes": str(size.workers.count),
        "worker nodes in infrastructure's estimate": str(documented.workers) if documented else "-",
        "pods of collect": str(size.pods),
        "brokers": brokers_text(size.brokers.count, size.brokers.cores_each),
        "brokers in infrastructure's estimate": (
            brokers_text(documented.brokers, documented.broker_vcpus) if documented else "-"
        ),
        "stored, all replicas": f"{size.brokers.stored_gib * 2**30 / 1e12:,.1f} TB",
    }


def brokers_text(count: int, cores: int) -> str:
    """`3 of 2 cores`."""
    return f"{count} of {cores} cores"


def dollar_table(sizes: Sequence[SizedRate]) -> TableOf:
    """Dollars by line and rate."""
    million = [each.size.rate * 86_400 * 365 / 12 / 1e6 for each in sizes]
    totals = [sum(each.dollars.values()) for each in sizes]
    return TableOf(
        title="US dollars a month",
        heads=("", *(f"{each.size.rate:,.0f}/s" for each in sizes)),
        rows=[
            *([line, *(f"{each.dollars[line]:,.0f}" for each in sizes)] for line in sizes[0].dollars),
            ["sum", *(f"{total:,.0f}" for total in totals)],
            ["per million events", *(f"{t / m:.2f}" for t, m in zip(totals, million, strict=True))],
        ],
    )
