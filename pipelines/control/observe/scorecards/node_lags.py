"""Percentiles of lags by node, inside hifi and end to end, from histograms by stage. Pure."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from pipelines.control.observe.ledger.minute_sums import Lags, StageLags
from shared.contracts.lag_histogram import Histogram, merged, percentile
from shared.contracts.ledger import Stage
from shared.contracts.scorecard import Node, NodeLags, Percentiles

_NONE: Final = StageLags()


class _Edges(NamedTuple):
    """Stages at a node's input and output; the difference of their lag-out is the node's own lag."""

    taken: tuple[Stage, ...]
    given: tuple[Stage, ...]


_EDGES: Final[Mapping[Node, _Edges]] = {
    Node.COLLECT: _Edges((), (Stage.COLLECTED,)),
    Node.INGEST: _Edges((Stage.COLLECTED,), (Stage.EVENTS,)),
    Node.ROUTE: _Edges((Stage.EVENTS,), (Stage.FIRST, Stage.FURTHER)),
    # Retried events arrive late: they are on both sides, otherwise transmit would seem slow.
    Node.TRANSMIT: _Edges(
        (Stage.FIRST, Stage.FURTHER, Stage.LETTER, Stage.RETRIED),
        (Stage.DELIVERED, Stage.RETRYING, Stage.DEAD),
    ),
    Node.RETRY: _Edges((Stage.WAITING,), (Stage.RETRIED,)),
}


def node_lags(lags: Lags) -> list[NodeLags]:
    """The lag of each node that had events, in the order of the chain."""
    rows = [_node(node, *_histograms(node, edges, lags)) for node, edges in _EDGES.items()]
    return [row for row in rows if row.lag_in.p50 is not None or row.lag_out.p50 is not None]


def inside(lags: Lags) -> Percentiles:
    """Time from entering hifi to leaving it, of delivered events."""
    return percentiles(lags.get(Stage.DELIVERED, _NONE).inside)


def end_to_end(lags: Lags) -> Percentiles:
    """Time from the event's time (which names its minute) to leaving hifi, of delivered events."""
    return percentiles(lags.get(Stage.DELIVERED, _NONE).lag_out)


def percentiles(counts: Histogram) -> Percentiles:
    """Percentiles of a histogram."""
    return Percentiles(
        p50=percentile(counts, 0.5), p95=percentile(counts, 0.95), p99=percentile(counts, 0.99)
    )


def _histograms(node: Node, edges: _Edges, lags: Lags) -> tuple[Histogram, Histogram]:
    taken = merged(lags.get(stage, _NONE).lag_out for stage in edges.taken)
    given = merged(lags.get(stage, _NONE).lag_out for stage in edges.given)
    return lags.get(Stage.COLLECTED, _NONE).lag_in if node is Node.COLLECT else taken, given


def _node(node: Node, taken: Histogram, given: Histogram) -> NodeLags:
    lag_in, lag_out = percentiles(taken), percentiles(given)
    known = lag_in.p95 is not None and lag_out.p95 is not None
    return NodeLags(
        node=node,
        lag_in=lag_in,
        lag_out=lag_out,
        process_ms=max(0.0, (lag_out.p95 or 0.0) - (lag_in.p95 or 0.0)) if known else None,
    )
