"""Documents may name exactly the connectors that transmit can send to."""

from importlib import import_module

import pytest

from pipelines.data.transmit.connectors.registry import CONNECTORS
from shared.connectors.registry import SPECS
from tests.contract.connectors import conformance


def test_whatever_a_document_may_name_has_a_sender_and_the_other_way_round() -> None:
    assert {name: connector.spec for name, connector in CONNECTORS.items()} == dict(SPECS)


@pytest.mark.parametrize("name", sorted(SPECS))
def test_every_connector_is_held_to_the_promises_of_all(name: str) -> None:
    promises = conformance.Conformance
    defined = vars(import_module(f"{conformance.__package__}.test_{name}")).values()
    suites = [each for each in defined if isinstance(each, type) and issubclass(each, promises)]
    assert set(suites) - {promises}
