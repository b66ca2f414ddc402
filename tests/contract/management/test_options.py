"""Options of destinations over HTTP: refusals name place and fix, and forms get a description."""

from typing import Any

import jsonschema
import pytest

from shared.connectors.registry import SPECS
from tests.contract.management.api_process import NEW, ApiProcess

PATH = "/v1/tenants/options/destinations/options.d"
URL = "https://example.com/hook"
PLAIN = "hunter2-hunter2"
AWS = {"region": "eu-west-1", "access_key_id": "AKIAEXAMPLE", "secret_access_key": "secret://options/aws"}


@pytest.mark.parametrize(
    ("document", "pointer", "fix"),
    [
        ({"options": {"url": URL, "format": "lines"}}, "/options/format", "one of batch, array"),
        ({"options": {"url": URL, "formt": "array"}}, "/options/formt", "did you mean 'format'?"),
        ({"options": {}}, "/options", "where to POST"),
        (
            {"options": {"url": URL, "headers": {"Authorization": PLAIN}}},
            "/options/headers/Authorization",
            "name it: secret://",
        ),
        ({"options": {"url": f"https://user:{PLAIN}@example.com"}}, "/options/url", "name it in `auth`"),
        ({"options": {"url": "http://10.0.0.1/"}}, "/options/url", "give a public address"),
        ({"options": {"url": "http://localhost:8080/"}}, "/options/url", "give a public address"),
        (
            {"connector": "kafka", "options": {"bootstrap_servers": ["a:1", "10.0.0.1:2"], "topic": "t"}},
            "/options/bootstrap_servers/1",
            "give a public address",
        ),
        ({"connector": "fax", "options": {}}, "/connector", "known: elasticsearch"),
        ({"connector": "webhok", "options": {"url": URL}}, "/connector", "did you mean 'webhook'?"),
    ],
)
def test_a_wrong_option_is_refused_with_its_place_and_the_fix(
    api: ApiProcess, document: dict[str, Any], pointer: str, fix: str
) -> None:
    refused = api.ask("PUT", PATH, document, NEW)
    assert (refused.status, refused.headers["content-type"]) == (422, "application/problem+json")
    (error,) = refused.json["errors"]
    assert error["pointer"] == pointer
    assert error["fix"].startswith(fix), error
    assert PLAIN not in refused.text
    bundle = {"documents": [{"kind": "destination", "name": "options.d", **document}]}
    applied = api.ask("POST", "/v1/tenants/options/apply", bundle)
    assert (applied.status, applied.json["errors"]) == (422, refused.json["errors"])
    assert api.ask("GET", PATH).status == 404


def test_a_form_of_each_connector_can_be_made_of_what_the_api_says(api: ApiProcess) -> None:
    items = api.ask("GET", "/v1/connectors", token=api.token("forms", "viewer")).json["items"]
    assert [each["name"] for each in items] == sorted(SPECS)
    for each in items:
        schema = each["options"]
        jsonschema.Draft202012Validator.check_schema(schema)
        assert each["description"]
        assert set(schema["required"]) <= set(schema["properties"])


@pytest.mark.parametrize(
    ("connector", "options"),
    [
        (
            "webhook",
            {"url": URL, "format": "event", "auth": {"type": "bearer", "token": "secret://options/a"}},
        ),
        ("webhook", {"url": URL, "signing": {"keys": ["secret://options/a"]}, "headers": {"X-A": "b"}}),
        ("kafka", {"bootstrap_servers": ["kafka.example.com:9093"], "topic": "t"}),
        ("s3", {"bucket": "events", **AWS}),
        ("kinesis", {"stream": "events", **AWS}),
        ("elasticsearch", {"url": "https://es.example.com", "index": "events"}),
        ("webhook", {"url": URL, "auth": {"type": "digest"}}),
        ("webhook", {"url": URL, "auth": {"type": "bearer", "token": PLAIN}}),
        ("webhook", {"url": URL, "surprise": 1}),
        ("kafka", {"bootstrap_servers": [], "topic": "t"}),
        ("s3", {"bucket": "events"}),
    ],
)
def test_the_schema_takes_what_the_api_takes_and_refuses_what_it_refuses(
    api: ApiProcess, connector: str, options: dict[str, Any]
) -> None:
    items = {each["name"]: each["options"] for each in api.ask("GET", "/v1/connectors").json["items"]}
    fits = jsonschema.Draft202012Validator(items[connector]).is_valid(options)
    planned = api.ask("PUT", f"{PATH}?dry_run=true", {"connector": connector, "options": options}, NEW)
    assert planned.status == (200 if fits else 422), planned.text
