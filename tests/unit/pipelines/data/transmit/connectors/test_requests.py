"""Requests of kafka, s3 and elasticsearch, built from options and events. Pure."""

from typing import Any

import msgspec
import pytest

from pipelines.data.transmit.connectors import elasticsearch
from pipelines.data.transmit.connectors.aws import s3
from pipelines.data.transmit.connectors.kafka.access import Access, producer_config
from shared.connectors import kafka
from shared.connectors import s3 as s3_options
from shared.contracts.documents import Destination
from tests.unit.pipelines.data.transmit.transmit_events import event

KAFKA = {"bootstrap_servers": ["kafka.example.com:9093", "[2606:4700::1]:9093"], "topic": "orders"}
BUCKET = {
    "bucket": "events",
    "region": "eu-west-1",
    "access_key_id": "AKIAEXAMPLE",
    "secret_access_key": "secret://t/aws",
}


def test_sasl_goes_over_tls() -> None:
    access = Access(
        tenant="acme",
        servers=kafka.servers(msgspec.convert(KAFKA, kafka.Options)),
        timeout_seconds=5,
        tls=True,
        ca=None,
        mechanism="SCRAM-SHA-512",
        username="hifi",
        password="x",
    )
    config = producer_config(access, lambda _: None)
    assert config["bootstrap.servers"] == "kafka.example.com:9093,[2606:4700::1]:9093"
    assert (config["security.protocol"], config["acks"]) == ("SASL_SSL", "all")
    assert (config["sasl.mechanism"], config["sasl.username"]) == ("SCRAM-SHA-512", "hifi")


@pytest.mark.parametrize(
    ("changes", "url"),
    [
        ({}, "https://events.s3.eu-west-1.amazonaws.com"),
        ({"bucket": "a.b"}, "https://s3.eu-west-1.amazonaws.com/a.b"),
        ({"endpoint": "https://store.example.com/"}, "https://store.example.com/events"),
    ],
)
def test_where_a_buckets_objects_are(changes: dict[str, Any], url: str) -> None:
    assert s3.base_url(msgspec.convert(BUCKET | changes, s3_options.Options)) == url


def test_an_objects_name_says_which_events_it_holds_in_any_order() -> None:
    destination = Destination(name="d", tenant="acme", connector="s3", options={})
    some = [event(1), event(2), event(3)]
    assert s3.name("raw/", destination, some) == s3.name("raw/", destination, some[::-1])
    assert s3.content(some) == s3.content(some[::-1])
    assert s3.name("raw/", destination, some) != s3.name("raw/", destination, some[:2])
    assert s3.name("raw/", destination, some).startswith("raw/acme/p1/2025/02/19/2120/")


def test_a_bulk_body_is_two_lines_an_event_whatever_the_data_holds() -> None:
    body = elasticsearch.bulk("create", [event(1, value=b'{\n"a":\r\n1}'), event(2)])
    lines = body.splitlines()
    assert len(lines) == 4
    assert msgspec.json.decode(lines[0]) == {"create": {"_id": event(1).key.hex()}}
    assert msgspec.json.decode(lines[1])["data"] == {"a": 1}
