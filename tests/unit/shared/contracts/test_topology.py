"""The edges of the chain fit together."""

from datetime import timedelta

from shared.contracts.topics import COMMITS_KEPT, KEPT, RETRY_DELAYS, TALLIED, Topic, topic_specs
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


def test_an_event_that_waits_on_a_parked_side_is_kept_as_long_as_a_dead_letter() -> None:
    kept = {spec.name: spec.retention for spec in topic_specs(1)}
    waiting = (*INPUTS["retry"], *RETRY_DELAYS, Topic.RETRY_OUT, Topic.OUTBOUND_SLOW)
    assert {kept[topic] for topic in waiting} == {kept[Topic.DEAD_LETTER]} == {KEPT}


def test_committed_offsets_outlast_the_records_before_them() -> None:
    segment = timedelta(days=7)  # Kafka deletes whole segments
    for group in CHAIN_GROUPS:
        for spec in topic_specs(1):
            if spec.name in INPUTS[group] and spec.retention is not None:
                assert spec.retention + segment < COMMITS_KEPT
