"""The traceparents with which traced events arrive; test_tracing.py checks their spans."""

from shared.contracts.tracing import own_traceparent
from tests.integration.traced_events import TracedEvents


def test_a_destination_gets_the_traceparents_of_clients_and_of_events_that_hifi_traces(
    traced: TracedEvents,
) -> None:
    ids = (traced.clients, traced.unsampled, traced.chosen, traced.plain)
    carried = [traced.arrived[one].get("traceparent") for one in ids]
    own = own_traceparent(traced.tenant, traced.chosen)
    assert carried == [traced.asked_for, traced.not_asked_for, own, None]
