"""When a dark side may be parked."""

from collections.abc import Mapping

import pytest

from scripts.release.drained import left
from shared.contracts.topology import CHAIN_GROUPS
from shared.runtime.metrics import ObserveMetric


def metrics(unread: Mapping[str, int], behind: float = 0.0) -> str:
    lines = [f'{ObserveMetric.UNREAD}{{node="{node}"}} {records}' for node, records in unread.items()]
    return "\n".join([*lines, f"{ObserveMetric.BEHIND_SECONDS} {behind}", ""])


def test_a_side_with_nothing_before_any_node_may_be_parked() -> None:
    assert left(metrics(dict.fromkeys(CHAIN_GROUPS, 0))) == []


@pytest.mark.parametrize("node", CHAIN_GROUPS)
def test_a_node_with_records_before_it_is_named_with_their_number(node: str) -> None:
    assert left(metrics(dict.fromkeys(CHAIN_GROUPS, 0) | {node: 1200})) == [f"{node}: 1,200 records"]


def test_silence_is_not_emptiness() -> None:
    unknown = [f"{node}: not known yet" for node in CHAIN_GROUPS]
    assert left("") == [*unknown, "observe: inf s behind the topics"]


def test_what_observe_says_counts_only_while_it_keeps_up() -> None:
    assert left(metrics(dict.fromkeys(CHAIN_GROUPS, 0), behind=90)) == ["observe: 90 s behind the topics"]
