"""A try of an event on pipes over HTTP: matches and outgoing requests, and nothing of other tenants."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.contract.management.api_process import ApiProcess

EVENT = {
    "specversion": "1.0",
    "id": "e-1",
    "source": "/players/7",
    "type": "play",
    "time": "2026-01-01T00:00:00Z",
}
DATA = {"rate": 3, "user": {"email": "ann@example.com", "age": 41}, "price": 1}
SECRET = "ann@example.com"


@pytest.fixture(scope="module")
def viewer(api: ApiProcess) -> str:
    """A viewer of a tenant with one source and three pipes."""
    sink = {"options": {"url": "https://example.com/hook", "signing": {"keys": ["secret://try/key"]}}}
    masks = [{"path": "$.data.user.email", "action": "redact"}, {"path": "$.subject", "action": "hash"}]
    documents: list[dict[str, Any]] = [
        {"kind": "source", "name": "try.s"},
        {"kind": "destination", "name": "try.d", **sink},
        pipe("try.fast", match={"data": {"rate": [{"numeric": [">", 5]}]}}),
        pipe("try.masked", masks=masks, transform="{who: data.user, n: data.price}"),
        pipe("try.rare", match={"type": ["play"]}, sample=0),
    ]
    done = api.ask("POST", "/v1/tenants/try/apply", {"documents": documents})
    assert done.status == 200, done.text
    return api.token("try", "viewer")


def pipe(name: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "pipe", "name": name, "source": "try.s", "destination": "try.d", **fields}


def body(data: str = json.dumps(DATA), attributes: Mapping[str, Any] = EVENT, **asked: Any) -> bytes:
    """A request with an event that has this text as data."""
    event = f'{json.dumps(dict(attributes))[:-1]}, "data": {data}}}'
    rest = json.dumps(asked)[1:-1]
    return f'{{"event": {event}{", " if rest else ""}{rest}}}'.encode()


def one(api: ApiProcess, token: str, sent: bytes) -> dict[str, Any]:
    """The answer for the only pipe."""
    answer = api.ask("POST", "/v1/tenants/try/try", sent, token=token)
    assert answer.status == 200, answer.text
    (item,) = answer.json["items"]
    return dict(item)


def test_each_pipe_of_a_source_says_whether_it_takes_an_event_and_if_not_why(
    api: ApiProcess, viewer: str
) -> None:
    answer = api.ask("POST", "/v1/tenants/try/try", body(source="try.s"), token=viewer)
    assert (answer.status, answer.json["next"]) == (200, None), answer.text
    fast, masked, rare = answer.json["items"]
    assert (fast["pipe"], fast["matches"], fast["leaves"], fast["event"]) == ("try.fast", False, False, None)
    assert fast["unmet"] == {"path": ["data", "rate"], "wanted": [{"numeric": [">", 5]}], "found": [3]}
    assert (masked["matches"], masked["unmet"], masked["leaves"]) == (True, None, True)
    assert (rare["matches"], rare["leaves"]) == (True, False)
    assert rare["sample"] == {"percent": 0.0, "taken": False}


def test_what_would_leave_is_masked_then_transformed_and_names_no_secret(
    api: ApiProcess, viewer: str
) -> None:
    sent = body(attributes=EVENT | {"subject": SECRET}, pipe="try.masked")
    item = one(api, viewer, sent)
    assert item["event"]["data"] == {"who": {"email": "***", "age": 41}, "n": 1}
    assert (len(item["event"]["subject"]), item["example_hashes"]) == (64, True)
    assert item["destination"] == {
        "name": "try.d",
        "connector": "webhook",
        "summary": "https://example.com/hook",
    }
    assert SECRET not in json.dumps(item)
    assert "secret://" not in json.dumps(item)


def test_data_that_no_mask_and_no_transform_touches_leaves_byte_for_byte(
    api: ApiProcess, viewer: str
) -> None:
    data = '{"a": 1.10, "b" : "\\u00e9", "n": 123456789012345678901234567890.0}'
    sent = body(data, pipe=pipe("new", masks=[{"path": "$.data.gone", "action": "drop"}]))
    answer = api.ask("POST", "/v1/tenants/try/try", sent, token=viewer)
    assert f'"data":{data}}}' in answer.text


def test_a_pipe_need_not_be_saved_nor_named(api: ApiProcess, viewer: str) -> None:
    unsaved = {"destination": "try.d", "match": {"type": ["stop"]}}
    item = one(api, viewer, body(source="try.s", pipe=unsaved))
    assert (item["pipe"], item["matches"]) == ("unsaved", False)
    assert item["unmet"] == {"path": ["type"], "wanted": ["stop"], "found": ["play"]}
    assert api.ask("GET", "/v1/tenants/try/pipes/unsaved", token=viewer).status == 404
    item = one(api, viewer, body(source="try.s", pipe={"destination": "try.none"}))
    assert (item["destination"], item["leaves"], item["matches"]) == (None, False, True)
    assert item["problem"]["detail"] == "there is no destination 'try.none'"


@pytest.mark.parametrize(
    ("transform", "said"),
    [
        ("data|" + "|".join(["[@,@]"] * 60), "transform_failed: takes more than 10000 steps"),
        ("sum(data.user)", "transform_failed: sum() takes array-number, and was given object"),
        ("data.nothing", "transform_failed: the result is null"),
    ],
)
def test_a_transform_that_fails_is_told_as_transmit_would_as_problem_details(
    api: ApiProcess, viewer: str, transform: str, said: str
) -> None:
    item = one(api, viewer, body(pipe=pipe("new", transform=transform)))
    assert (item["matches"], item["leaves"], item["event"]) == (True, False, None)
    assert (item["problem"]["type"], item["problem"]["status"]) == ("about:blank", 422)
    assert item["problem"]["detail"].startswith(said)
    assert item["problem"]["errors"][0]["pointer"] == "/transform"
    assert item["problem"]["errors"][0]["fix"]
    assert SECRET not in json.dumps(item["problem"])


@pytest.mark.parametrize(
    ("sent", "document", "pointer"),
    [
        (body(), "request", ""),
        (body(source="try.none"), "request", "/source"),
        (body(pipe="try.none"), "request", "/pipe"),
        (body(pipe="../etc"), "request", "/pipe"),
        (body(pipe="try.fast", source="try.other"), "request", "/source"),
        (body(pipe=pipe("new", match={"type": "play"})), "pipe/new", "/match/type"),
        (body(pipe=pipe("new", tenant="isolated")), "pipe/new", "/tenant"),
        (body(pipe=pipe("new", surprise=1)), "pipe/new", "/surprise"),
        (body(attributes={**EVENT, "id": ""}, source="try.s"), "event", "/id"),
        (body("[" * 200 + "]" * 200, source="try.s"), "event", ""),
        (body(f'"{"x" * 600_000}"', source="try.s"), "event", ""),
    ],
)
def test_what_cannot_be_tried_is_refused_with_its_place(
    api: ApiProcess, viewer: str, sent: bytes, document: str, pointer: str
) -> None:
    refused = api.ask("POST", "/v1/tenants/try/try", sent, token=viewer)
    assert (refused.status, refused.headers["content-type"]) == (422, "application/problem+json"), (
        refused.text
    )
    error = refused.json["errors"][0]
    assert (error["document"], error["pointer"]) == (document, pointer)
    assert error["detail"]


def test_nothing_of_another_tenant_can_be_named(api: ApiProcess, viewer: str) -> None:
    api.ask("POST", "/v1/tenants/isolated/apply", {"documents": [{"kind": "source", "name": "isolated.s"}]})
    for source in ("isolated.s", "nowhere.s"):
        refused = api.ask("POST", "/v1/tenants/try/try", body(source=source), token=viewer)
        assert (refused.status, refused.json["errors"][0]["pointer"]) == (422, "/source")
    foreign = pipe("new") | {"source": "isolated.s", "destination": "isolated.d"}
    assert one(api, viewer, body(pipe=foreign))["destination"] is None
    assert api.ask("POST", "/v1/tenants/isolated/try", body(source="isolated.s"), token=viewer).status == 404


def test_a_try_is_no_write_in_the_audit_log(api: ApiProcess, viewer: str) -> None:
    before = api.ask("GET", "/v1/tenants/try/audit").json["items"]
    one(api, viewer, body(pipe="try.fast"))
    api.ask("POST", "/v1/tenants/try/try", body(), token=viewer)
    assert api.ask("GET", "/v1/tenants/try/audit").json["items"] == before


def test_many_pipes_are_tried_page_by_page(api: ApiProcess) -> None:
    documents: list[dict[str, Any]] = [
        {"kind": "source", "name": "many.s"},
        {"kind": "destination", "name": "many.d", "options": {"url": "https://example.com/hook"}},
    ]
    names = [f"many.{number}" for number in range(5)]
    documents += [pipe(name) | {"source": "many.s", "destination": "many.d"} for name in names]
    assert api.ask("POST", "/v1/tenants/many/apply", {"documents": documents}).status == 200
    found, cursor = [], ""
    while cursor is not None:
        path = f"/v1/tenants/many/try?limit=2{cursor and '&cursor=' + cursor}"
        page = api.ask("POST", path, body(source="many.s")).json
        found += [each["pipe"] for each in page["items"]]
        cursor = page["next"]
    assert found == names


def test_more_than_it_computes_at_once_is_put_off_and_holds_nothing_else_up(
    api: ApiProcess, viewer: str
) -> None:
    heavy = body(
        json.dumps(["x" * 80] * 5_000), pipe=pipe("new", transform="[" + ",".join(["data"] * 50) + "]")
    )
    with ThreadPoolExecutor(8) as threads:
        asked = [
            threads.submit(api.ask, "POST", "/v1/tenants/try/try", heavy, None, viewer) for _ in range(24)
        ]
        assert api.ask("GET", "/v1/whoami", token=viewer).status == 200
        others = api.ask("POST", "/v1/tenants/another/try", body(pipe=pipe("new")))
        answers = [each.result() for each in asked]
    assert others.status == 200, "one tenant leaves room for another"
    assert {each.status for each in answers} <= {200, 429}
    assert 200 in {each.status for each in answers}
    assert all(each.headers["retry-after"] == "1" for each in answers if each.status == 429)


def test_an_event_that_takes_too_many_comparisons_is_not_decided(api: ApiProcess, viewer: str) -> None:
    """Route would quarantine it."""
    match = {"data": {"x": [{"prefix": [str(number) for number in range(2_000)]}]}}
    item = one(api, viewer, body(json.dumps({"x": ["1"] * 501}), pipe=pipe("new", match=match)))
    assert (item["matches"], item["leaves"], item["event"]) == (None, False, None)
    (error,) = item["problem"]["errors"]
    assert (error["pointer"], "1,000,000 comparisons" in error["detail"]) == ("/match", True), error
    item = one(api, viewer, body(json.dumps({"x": ["1"] * 499}), pipe=pipe("new", match=match)))
    assert (item["matches"], item["leaves"]) == (True, True)
