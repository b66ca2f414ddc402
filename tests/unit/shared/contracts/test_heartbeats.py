"""The configuration in use, according to heartbeats."""

from shared.contracts.documents import KINDS
from shared.contracts.heartbeats import CONFIGURED, NODES, Heartbeat, decode, encode, lacking, usage


def beat(node: str, instance: str, config: int, at_ms: int = 1_000, valid_ms: int = 100) -> Heartbeat:
    return Heartbeat(node=node, instance=instance, build="1", config=config, at_ms=at_ms, valid_ms=valid_ms)


def test_the_slowest_process_of_a_node_counts_and_one_that_fell_silent_does_not() -> None:
    beats = [beat("transmit", "a", 9), beat("transmit", "b", 5), beat("transmit", "c", 1, at_ms=900)]
    assert usage(beats, 1_050) == {"transmit": 5}
    assert usage(beats, 1_100) == {}


def test_a_node_that_has_no_process_is_one_that_does_not_use_it() -> None:
    assert lacking("pipe", 4, {"route": 5}) == ["transmit"]
    assert lacking("pipe", 4, {"route": 5, "transmit": 5}) == []
    assert lacking("contact", 4, {}) == []


def test_every_kind_says_which_nodes_it_needs() -> None:
    assert set(CONFIGURED) == set(KINDS)
    assert {node for nodes in CONFIGURED.values() for node in nodes} == set(NODES)


def test_a_heartbeat_reads_as_it_was_written() -> None:
    assert decode(encode(beat("collect", "h-1", 3))) == beat("collect", "h-1", 3)
