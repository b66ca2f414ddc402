"""The connectors that documents may name are those that transmit can send to."""

from pipelines.data.transmit.connectors.registry import CONNECTORS
from shared.connectors.registry import SPECS


def test_whatever_a_document_may_name_has_a_sender_and_the_other_way_round() -> None:
    assert {name: connector.spec for name, connector in CONNECTORS.items()} == dict(SPECS)
