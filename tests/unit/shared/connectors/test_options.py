"""Refusals of connector options, and their descriptions. Pure."""

from typing import Any

import msgspec
import pytest

from shared.connectors.registry import SPECS
from shared.contracts.document_parsing import parse
from shared.contracts.documents import Batch
from shared.contracts.egress_policy import EgressPolicy
from shared.documents.check import field_problems
from shared.documents.reach import out_of_reach

AWS = {"region": "eu-west-1", "access_key_id": "AKIAEXAMPLE", "secret_access_key": "secret://t/aws"}
GOOD: dict[str, dict[str, Any]] = {
    "webhook": {"url": "https://example.com/hook"},
    "kafka": {"bootstrap_servers": ["kafka.example.com:9093", "[2606:4700::1]:9093"], "topic": "orders"},
    "s3": {"bucket": "events", **AWS},
    "kinesis": {"stream": "events", **AWS},
    "elasticsearch": {"url": "https://es.example.com", "index": "events"},
}
USER_URL = "https://user@example.com/hook"
BEARER = {"type": "bearer", "token": "secret://t/token"}
OAUTH2 = {
    "type": "oauth2",
    "token_url": "https://user@example.com/token",
    "client_id": "hifi",
    "client_secret": "secret://t/oauth",
}
SASL = {"mechanism": "SCRAM-SHA-512", "username": "hifi", "password": "secret://t/kafka"}


def paths(connector: str, **changes: object) -> set[str]:
    options = {name: value for name, value in (GOOD[connector] | changes).items() if value is not None}
    raw = {"kind": "destination", "name": "d", "tenant": "t", "connector": connector, "options": options}
    return {path for path, _, _ in field_problems(raw)}


@pytest.mark.parametrize("connector", GOOD)
def test_no_text_of_an_option_may_end_in_a_line_feed(connector: str) -> None:
    for name, value in GOOD[connector].items():
        if isinstance(value, str):
            assert paths(connector, **{name: value + "\n"}) == {f"$.options.{name}"}


@pytest.mark.parametrize("connector", GOOD)
def test_the_least_that_is_needed_is_enough(connector: str) -> None:
    assert not paths(connector)
    assert paths(connector, unheard_of=1) == {"$.options.unheard_of"}
    for name in GOOD[connector]:
        assert paths(connector, **{name: None}) == {"$.options"}


@pytest.mark.parametrize(
    ("connector", "changes", "path"),
    [
        ("webhook", {"url": "https://user:pw@example.com"}, "$.options.url"),
        ("webhook", {"url": USER_URL, "auth": BEARER}, "$.options.url"),
        ("webhook", {"url": USER_URL, "headers": {"AUTHORIZATION": "secret://t/token"}}, "$.options.url"),
        ("webhook", {"auth": OAUTH2}, "$.options.auth.token_url"),
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
        ("s3", {"endpoint": "https://:@a"}, "$.options.endpoint"),
        ("kinesis", {"stream": "a b"}, "$.options.stream"),
        ("kinesis", {"endpoint": "https://a?x"}, "$.options.endpoint"),
        ("elasticsearch", {"index": "Events"}, "$.options.index"),
        ("elasticsearch", {"index": ".."}, "$.options.index"),
        ("elasticsearch", {"index": "a/_delete_by_query"}, "$.options.index"),
        ("elasticsearch", {"url": "https://user:pw@es.example.com"}, "$.options.url"),
        ("elasticsearch", {"url": "https://:@es.example.com"}, "$.options.url"),
        ("elasticsearch", {"username": "u"}, "$.options.username"),
        ("elasticsearch", {"operation": "delete"}, "$.options.operation"),
        ("elasticsearch", {"api_key": "plain"}, "$.options.api_key"),
    ],
)
def test_invalid_options_are_refused_with_their_path(
    connector: str, changes: dict[str, Any], path: str
) -> None:
    assert paths(connector, **changes) == {path}


def test_a_user_in_a_url_is_taken_where_nothing_else_says_who_sends() -> None:
    assert not paths("webhook", url=USER_URL, headers={"X-Api-Key": "secret://t/key"})
    assert not paths("webhook", auth=OAUTH2 | {"credentials": "body"})
    assert not paths("webhook", url="https://@example.com/hook", auth=BEARER)


def test_tls_may_be_left_out_on_this_machine_alone() -> None:
    assert not paths("kafka", tls=False, bootstrap_servers=["127.0.0.1:9092", "localhost:9092"])


def test_kinesis_takes_no_more_in_a_request_than_put_records_does() -> None:
    options = msgspec.convert(GOOD["kinesis"], SPECS["kinesis"].options)
    most = SPECS["kinesis"].batch(options, Batch(max_events=10_000, max_bytes=8 * 1024 * 1024))
    assert (most.max_events, most.max_bytes) == (500, 4 * 1024 * 1024)


@pytest.mark.parametrize(
    ("connector", "changes", "path"),
    [
        (
            "kafka",
            {"bootstrap_servers": ["a.example.com:1", "10.0.0.7:9093"]},
            "$.options.bootstrap_servers[1]",
        ),
        ("s3", {"endpoint": "https://169.254.169.254"}, "$.options.endpoint"),
        ("kinesis", {"endpoint": "http://localhost:4567"}, "$.options.endpoint"),
        ("elasticsearch", {"url": "https://[fd00::1]"}, "$.options.url"),
    ],
)
def test_an_address_inside_is_found_before_anything_dials_it(
    connector: str, changes: dict[str, Any], path: str
) -> None:
    options = GOOD[connector] | changes
    document = parse(
        {"kind": "destination", "name": "d", "tenant": "t", "connector": connector, "options": options}
    )
    assert [each for each, _ in out_of_reach(document, EgressPolicy())] == [path]


@pytest.mark.parametrize("connector", SPECS)
def test_every_connector_has_a_description_and_says_in_short_where_events_go(connector: str) -> None:
    spec = SPECS[connector]
    assert spec.description
    assert spec.summary(msgspec.convert(GOOD[connector], spec.options))
