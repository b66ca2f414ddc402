"""Without an answer of the brokers, reading positions fails with the client's own error."""

import socket
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from shared.kafka import group_positions
from shared.kafka.admin import admin_client
from shared.kafka.group_positions import commit_positions, committed_offsets


@pytest.fixture
def silent() -> Iterator[AdminClient]:
    """A client of brokers that accept connections and never answer, like suspended ones."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield admin_client(f"127.0.0.1:{listening.getsockname()[1]}")


@pytest.mark.parametrize(
    "ask",
    [
        lambda admin: committed_offsets(admin, "hifi-route"),
        lambda admin: commit_positions(admin, "hifi-route", {"collected/0": 1}),
    ],
)
def test_brokers_that_do_not_answer_are_an_error_of_the_client(
    ask: Callable[[AdminClient], object], silent: AdminClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_positions, "_ANSWER_SECONDS", 1.0)
    with pytest.raises(KafkaException):
        ask(silent)
