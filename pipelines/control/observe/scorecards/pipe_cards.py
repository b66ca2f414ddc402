"""The outcomes of one pipe's events, summed from the cards of minutes. Pure."""

from collections.abc import Iterable

from shared.contracts.scorecard import HopRow, MinuteCard, Node, PipeCard


def pipe_card(tenant: str, pipe: str, first: int, last: int, cards: Iterable[MinuteCard]) -> PipeCard:
    """The card of a pipe from minute `first` to `last`; `cards` are the tenant's of these minutes."""
    rows = [row for card in cards for row in card.hops if (row.node, row.pipe) == (Node.TRANSMIT, pipe)]
    events = sum(_tried(row) for row in rows)
    return PipeCard(
        tenant=tenant,
        pipe=pipe,
        first=first,
        last=last,
        events=events,
        good=min(events, sum(row.good for row in rows)),
        dead=sum(row.dead for row in rows),
    )


def _tried(row: HopRow) -> int:
    """Events of a minute that are not on their way to the first try any more."""
    return max(0, row.events - row.under_way)
