"""Heartbeats continue, whatever happens to a client."""

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from shared.contracts.heartbeats import decode
from shared.kafka.heartbeat_writer import EVERY_SECONDS, HeartbeatWriter


class Client:
    """Keeps written records, unless it refuses everything."""

    def __init__(self, refusal: Exception | None = None) -> None:
        self.refusal, self.configs = refusal, list[int]()

    def produce(self, _topic: str, value: bytes, _key: str) -> None:
        if self.refusal:
            raise self.refusal
        self.configs.append(decode(value).config)

    def poll(self, _seconds: float) -> int:
        return 0


def written(*clients: Client) -> tuple[HeartbeatWriter, list[float]]:
    """A writer that uses these clients one after the other, and its clock."""
    waiting, now = iter(clients), [0.0]

    def client(_config: dict[str, Any]) -> Any:
        return next(waiting)

    writer = HeartbeatWriter(
        "none:1", node="collect", instance="a", clock=lambda: 0, monotonic=lambda: now[0], make_client=client
    )
    return writer, now


@pytest.mark.parametrize("refusal", [BufferError("full"), KafkaException(KafkaError(KafkaError._TRANSPORT))])
def test_a_client_that_refuses_for_a_while_is_kept(refusal: Exception) -> None:
    client = Client(refusal)
    writer, now = written(client)
    writer.beat(7)
    client.refusal = None
    now[0] += EVERY_SECONDS
    writer.beat(7)
    assert client.configs == [7]


def test_a_client_in_fatal_state_is_replaced() -> None:
    spent, fresh = Client(KafkaException(KafkaError(KafkaError._FATAL))), Client()
    writer, now = written(spent, fresh)
    writer.beat(7)
    now[0] += EVERY_SECONDS
    writer.beat(7)
    assert (spent.configs, fresh.configs) == ([], [7])
