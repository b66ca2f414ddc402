"""The edges of the chain fit together."""

from shared.contracts.topics import TALLIED, Topic
from shared.contracts.topology import CHAIN_GROUPS, INPUTS, OUTPUTS, READERS


def test_no_topic_of_the_chain_is_taken_on_by_two_nodes() -> None:
    inputs = [topic for group in CHAIN_GROUPS for topic in INPUTS[group]]
    assert len(inputs) == len(set(inputs)) == len(READERS)


def test_every_topic_that_a_node_reads_is_written_by_a_node() -> None:
    written = {topic for topics in OUTPUTS.values() for topic in topics}
    assert {topic for topics in INPUTS.values() for topic in topics} <= written


def test_audit_reads_every_topic_of_the_chain_but_those_within_transmit() -> None:
    chain = ("collect", *CHAIN_GROUPS)
    written = {topic for node in chain for topic in OUTPUTS[node]}
    assert written - {Topic.OUTBOUND_SLOW} == set(TALLIED) == set(INPUTS["audit"])


def test_only_quarantine_is_written_by_several_nodes() -> None:
    writers = {topic: [n for n in OUTPUTS if topic in OUTPUTS[n] and n != "transmit_slow"] for topic in Topic}
    assert {topic for topic, nodes in writers.items() if len(nodes) > 1} == {Topic.QUARANTINE}
