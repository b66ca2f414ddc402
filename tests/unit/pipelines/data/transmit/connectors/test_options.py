"""Options of kafka, s3, kinesis and elasticsearch: refusals, and results. Pure."""

from typing import Any

import msgspec
import pytest

from pipelines.data.transmit.connectors import elasticsearch
from pipelines.data.transmit.connectors.aws import s3
from pipelines.data.transmit.connectors.kafka import connector as kafka
from pipelines.data.transmit.connectors.kafka.access import Access, producer_config
from pipelines.data.transmit.connectors.registry import CONNECTORS
from scripts.documents.check import field_problems
from shared.contracts.documents import Batch, Destination
from tests.unit.pipelines.data.transmit.transmit_events import event

AWS = {"region": "eu-west-1", "access_key_id": "AKIAEXAMPLE", "secret_access_key": "secret://t/aws"}
GOOD: dict[str, dict[str, Any]] = {
    "kafka": {"bootstrap_servers": ["kafka.example.com:9093", "[2606:4700::1]:9093"], "topic": "orders"},
    "s3": {"bucket": "events", **AWS},
    "kinesis": {"stream": "events", **AWS},
    "elasticsearch": {"url": "https://es.example.com", "index": "events"},
}
SASL = {"mechanism": "SCRAM-SHA-512", "username": "hifi", "password": "secret://t/kafka"}


def paths(connector: str, **changes: object) -> set[str]:
    options = {name: value for name, value in (GOOD[connector] | changes).items() if value is not None}
    raw = {"kind": "destination", "name": "d", "tenant": "t", "connector": connector, "options": options}
    return {path for path, _, _ in field_problems(raw)}


@pytest.mark.parametrize("connector", GOOD)
def test_the_least_that_is_needed_is_enough(connector: str) -> None:
    assert not paths(connector)
    assert paths(connector, unheard_of=1) == {"$.options.unheard_of"}
    for name in GOOD[connector]:
        assert paths(connector, **{name: None}) == {"$.options"}


@pytest.mark.parametrize(
    ("connector", "changes", "path"),
    [
        ("kafka", {"bootstrap_servers": []}, "$.options.bootstrap_servers"),
        ("kafka", {"bootstrap_servers": ["kafka.example.com"]}, "$.options.bootstrap_servers[0]"),
        ("kafka", {"bootstrap_servers": ["a:1", "a:99999"]}, "$.options.bootstrap_servers[1]"),
        ("kafka", {"bootstrap_servers": ["a:1,b:2"]}, "$.options.bootstrap_servers[0]"),
        ("kafka", {"bootstrap_servers": ["SSL://a:1"]}, "$.options.bootstrap_servers[0]"),
        ("kafka", {"topic": "a/b"}, "$.options.topic"),
        ("kafka", {"tls": False}, "$.options.tls"),
        ("kafka", {"ca": "/etc/passwd"}, "$.options.ca"),
        ("kafka", {"sasl": SASL | {"password": "plain"}}, "$.options.sasl.password"),
        ("kafka", {"sasl": SASL | {"mechanism": "GSSAPI"}}, "$.options.sasl.mechanism"),
        ("s3", {"bucket": "Events"}, "$.options.bucket"),
        ("s3", {"bucket": "a/../b"}, "$.options.bucket"),
        ("s3", {"region": "evil.example.com/"}, "$.options.region"),
        ("s3", {"prefix": "/raw/"}, "$.options.prefix"),
        ("s3", {"prefix": "raw/../"}, "$.options.prefix"),
        ("s3", {"prefix": "raw?x"}, "$.options.prefix"),
        ("s3", {"secret_access_key": "plain"}, "$.options.secret_access_key"),
        ("s3", {"endpoint": "ftp://a"}, "$.options.endpoint"),
        ("s3", {"endpoint": "http://"}, "$.options.endpoint"),
        ("s3", {"endpoint": "https://user@a"}, "$.options.endpoint"),
        ("kinesis", {"stream": "a b"}, "$.options.stream"),
        ("kinesis", {"endpoint": "https://a?x"}, "$.options.endpoint"),
        ("elasticsearch", {"index": "Events"}, "$.options.index"),
        ("elasticsearch", {"index": ".."}, "$.options.index"),
        ("elasticsearch", {"index": "a/_delete_by_query"}, "$.options.index"),
        ("elasticsearch", {"url": "https://user:pw@es.example.com"}, "$.options.url"),
        ("elasticsearch", {"username": "u"}, "$.options.username"),
        ("elasticsearch", {"operation": "delete"}, "$.options.operation"),
        ("elasticsearch", {"api_key": "plain"}, "$.options.api_key"),
    ],
)
def test_invalid_options_are_refused_with_their_path(
    connector: str, changes: dict[str, Any], path: str
) -> None:
    assert paths(connector, **changes) == {path}


def test_sasl_goes_over_tls_and_tls_may_be_left_out_on_this_machine_alone() -> None:
    access = Access(
        servers=kafka.servers(msgspec.convert(GOOD["kafka"], kafka.Options)),
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
    assert not paths("kafka", tls=False, bootstrap_servers=["127.0.0.1:9092", "localhost:9092"])


@pytest.mark.parametrize(
    ("changes", "url"),
    [
        ({}, "https://events.s3.eu-west-1.amazonaws.com"),
        ({"bucket": "a.b"}, "https://s3.eu-west-1.amazonaws.com/a.b"),
        ({"endpoint": "https://store.example.com/"}, "https://store.example.com/events"),
    ],
)
def test_where_a_buckets_objects_are(changes: dict[str, Any], url: str) -> None:
    assert s3.base_url(msgspec.convert(GOOD["s3"] | changes, s3.Options)) == url


def test_an_objects_name_says_which_events_it_holds_in_any_order() -> None:
    destination = Destination(name="d", tenant="acme", connector="s3", options={})
    some = [event(1), event(2), event(3)]
    assert s3.name("raw/", destination, some) == s3.name("raw/", destination, some[::-1])
    assert s3.content(some) == s3.content(some[::-1])
    assert s3.name("raw/", destination, some) != s3.name("raw/", destination, some[:2])
    assert s3.name("raw/", destination, some).startswith("raw/acme/p1/2025/02/19/2120/")


def test_kinesis_takes_no_more_in_a_request_than_put_records_does() -> None:
    options = msgspec.convert(GOOD["kinesis"], CONNECTORS["kinesis"].options)
    most = CONNECTORS["kinesis"].batch(options, Batch(max_events=10_000, max_bytes=8 * 1024 * 1024))
    assert (most.max_events, most.max_bytes) == (500, 4 * 1024 * 1024)


def test_a_bulk_body_is_two_lines_an_event_whatever_the_data_holds() -> None:
    body = elasticsearch.bulk("create", [event(1, value=b'{\n"a":\r\n1}'), event(2)])
    lines = body.splitlines()
    assert len(lines) == 4
    assert msgspec.json.decode(lines[0]) == {"create": {"_id": event(1).key.hex()}}
    assert msgspec.json.decode(lines[1])["data"] == {"a": 1}
