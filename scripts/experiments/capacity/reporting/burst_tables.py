"""Tables of a simulated burst. Pure."""

from collections.abc import Iterable

from scripts.experiments.capacity.footprint import Footprint
from scripts.experiments.capacity.prediction import Prediction
from scripts.experiments.capacity.reporting.size_tables import brokers_text
from scripts.experiments.capacity.reporting.text_tables import TableOf
from scripts.experiments.capacity.warm import Answer


def answer_table(found: Prediction) -> TableOf:
    """Each way and tier, for the highest peak: at lower ones a side has no more than a few pods of each."""
    highest = max(each.peak for each in found.answers)
    return TableOf(
        title=f"Burst to {highest:,.0f}/s: least warm capacity of a side for the promised p95",
        heads=(
            "way", "pods", "least warm", "of the peak", "from the base's pods", "first new pod",
            "highest p95", "late seconds", "largest backlog, at the peak's rate",
        ),
        rows=[_answer_row(each) for each in found.answers if each.peak == highest],
    )  # fmt: skip


def _answer_row(each: Answer) -> list[str]:
    before = each.unprepared
    return [
        each.way,
        each.tier,
        "none" if each.least is None else f"{each.least} of {each.pods_at_peak}",
        "-" if each.share is None else f"{each.share:.0%}",
        str(each.base_pods),
        "-" if before.first_pod is None else f"{before.first_pod:.0f} s",
        f"{before.highest:,.1f} s",
        str(before.late(1.0)),
        f"{max(before.backlog):,.1f} s",
    ]


def footprint_table(found: Iterable[Footprint]) -> TableOf:
    """A table of the capacity that runs before a burst, and of its dollars a month."""
    return TableOf(
        title="What runs before the burst, and what that costs beyond a side of the base rate",
        heads=("peak", "way", "sides", "partitions", "brokers", "workers", "collect", "$ a month more"),
        rows=[
            [
                f"{each.peak:,.0f}/s",
                each.way,
                str(each.sides),
                str(each.partitions),
                brokers_text(each.brokers.count, each.brokers.cores_each),
                str(each.workers),
                str(each.pods),
                f"{each.dollars:,.0f}",
            ]
            for each in found
        ],
    )
