"""The connectors that documents may name are those that transmit can send to."""

from pathlib import Path
from typing import Final

import pytest

from pipelines.data.transmit.connectors.registry import CONNECTORS
from shared.connectors.registry import SPECS

_SUITES: Final = Path(__file__).parents[5] / "contract" / "connectors"


def test_whatever_a_document_may_name_has_a_sender_and_the_other_way_round() -> None:
    assert {name: connector.spec for name, connector in CONNECTORS.items()} == dict(SPECS)


@pytest.mark.parametrize("name", sorted(SPECS))
def test_every_connector_is_held_to_the_promises_of_all(name: str) -> None:
    assert "(Conformance):" in (_SUITES / f"test_{name}.py").read_text()
