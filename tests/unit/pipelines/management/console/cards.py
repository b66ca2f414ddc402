"""Cards and marks for tests."""

from shared.contracts.scorecard import MinuteCard, MinuteMark, Node, NodeLags, Percentiles


def card(minute: int, collected: int = 10, spent: bool = False, **durations: float) -> MinuteCard:
    """A settled minute with these milliseconds at each node, and twice their sum end to end."""
    none = Percentiles()
    return MinuteCard(
        tenant="acme",
        minute=minute,
        settled=True,
        spent=spent,
        collected=collected,
        total=collected,
        end_to_end=Percentiles(p50=100.0 + minute, p95=200.0 + minute, p99=300.0 + minute),
        nodes=[
            NodeLags(node=Node(name), lag_in=none, lag_out=none, process_ms=added)
            for name, added in durations.items()
        ],
    )


def mark(minute: int, total: int = 5, spent: bool = False, settled: bool = True) -> MinuteMark:
    """A minute in a calendar."""
    return MinuteMark(minute=minute, total=total, spent=spent, settled=settled, sli=1.0)
