"""A load is sent and arrives; test_what_was_counted.py compares the meter's figures."""

from tests.integration.counted_load import CountedLoad


def test_every_acknowledged_event_of_a_load_arrives(counted: CountedLoad) -> None:
    assert counted.sent
    assert counted.sent <= counted.arrived_ms.keys()
