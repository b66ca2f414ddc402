"""Documents over HTTP: conditions, bundles, history, names and write keys."""

from typing import Any

import pytest

from shared.contracts.document_items import Change, DocumentKey
from shared.contracts.documents import MOST_WRITE_KEYS, Source, sealed
from shared.contracts.key_usage import partition, sort_key
from shared.contracts.limits import MAX_DOCUMENT_DEPTH
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.item_store import ItemStore
from tests.contract.management.api_process import ANY, NEW, ApiProcess, destination


def test_a_document_is_made_read_changed_and_deleted_under_its_version(api: ApiProcess) -> None:
    path = "/v1/tenants/one/destinations/one.d"
    assert api.ask("PUT", path, destination()).status == 428
    made = api.ask("PUT", path, destination(), NEW)
    assert (made.status, made.headers["etag"]) == (201, '"1"'), made.text
    assert api.ask("PUT", path, destination(), NEW).status == 412
    changed = api.ask("PUT", path, destination(7), {"If-Match": '"1"'})
    assert (changed.status, changed.headers["etag"]) == (200, '"2"')
    assert api.ask("PUT", path, destination(8), {"If-Match": '"1"'}).status == 412
    assert api.ask("GET", path).json["document"]["timeout_seconds"] == 7
    assert api.ask("DELETE", path, headers={"If-Match": '"2"'}).status == 204
    assert api.ask("GET", path).status == 404
    history = api.ask("GET", f"{path}/history?limit=2").json
    assert [each["version"] for each in history["items"]] == [3, 2]
    rest = api.ask("GET", f"{path}/history?limit=2&cursor={history['next']}").json
    assert ([each["version"] for each in rest["items"]], rest["next"]) == ([1], None)
    back = api.ask("POST", f"{path}/revert", {"version": 2}, ANY)
    assert (back.status, back.json["document"]["timeout_seconds"]) == (200, 7), back.text


def test_a_deleted_document_is_brought_back_unless_it_is_there_again(api: ApiProcess) -> None:
    path = "/v1/tenants/back/destinations/back.d"
    assert api.ask("POST", f"{path}/revert", {"version": 1}, NEW).status == 404
    assert api.ask("PUT", path, destination(7), NEW).status == 201
    assert api.ask("DELETE", path, headers=ANY).status == 204
    plan = api.ask("POST", f"{path}/revert?dry_run=true", {"version": 1}, NEW)
    assert (plan.status, plan.json["changes"][0]["action"]) == (200, "create"), plan.text
    back = api.ask("POST", f"{path}/revert", {"version": 1}, NEW)
    assert (back.status, back.json["version"], back.json["document"]["timeout_seconds"]) == (200, 3, 7)
    assert api.ask("POST", f"{path}/revert", {"version": 1}, NEW).status == 412, "it is there again"


def test_a_dry_run_says_what_would_change_and_changes_nothing(api: ApiProcess) -> None:
    path = "/v1/tenants/two/destinations/two.d"
    plan = api.ask("PUT", f"{path}?dry_run=true", destination(), NEW)
    assert (plan.status, plan.json["changes"][0]["action"]) == (200, "create"), plan.text
    assert api.ask("GET", path).status == 404


def test_a_bundle_is_written_whole_or_not_at_all(api: ApiProcess) -> None:
    pipe = {"kind": "pipe", "name": "three.p", "source": "three.s", "destination": "three.d"}
    sink = {"kind": "destination", "name": "three.d", **destination()}
    path = "/v1/tenants/three/apply"
    refused = api.ask("POST", path, {"documents": [sink, pipe]})
    assert refused.status == 422, refused.text
    assert refused.json["errors"][0]["pointer"] == "/source"
    assert api.ask("GET", "/v1/tenants/three/destinations").json["items"] == []
    done = api.ask("POST", path, {"documents": [pipe, sink, {"kind": "source", "name": "three.s"}]})
    assert done.status == 200, done.text
    assert [each["action"] for each in done.json["changes"]] == ["create"] * 3
    assert done.json["changes"][2]["write_key"].startswith("wk_")
    used = api.ask("DELETE", "/v1/tenants/three/sources/three.s", headers=ANY)
    assert (used.status, "pipe" in used.json["detail"]) == (409, True)


def test_lists_are_paged_by_an_opaque_cursor(api: ApiProcess) -> None:
    names = [f"four.{number}" for number in range(5)]
    bundle = [{"kind": "destination", "name": name, **destination()} for name in names]
    assert api.ask("POST", "/v1/tenants/four/apply", {"documents": bundle}).status == 200
    found, cursor = [], ""
    while cursor is not None:
        page = api.ask("GET", f"/v1/tenants/four/destinations?limit=2{cursor and '&cursor=' + cursor}").json
        found += [each["document"]["name"] for each in page["items"]]
        cursor = page["next"]
    assert found == names


def test_a_brief_list_has_all_but_the_documents_and_is_paged_alike(api: ApiProcess) -> None:
    root = "/v1/tenants/brief/destinations"
    for name in ("a", "b", "gone"):
        assert api.ask("PUT", f"{root}/{name}", destination(), NEW).status == 201
    assert api.ask("PUT", f"{root}/b", destination(7), ANY).status == 200
    assert api.ask("DELETE", f"{root}/gone", headers=ANY).status == 204
    whole = api.ask("GET", root).json["items"]
    first = api.ask("GET", f"{root}?brief=true&limit=1").json
    rest = api.ask("GET", f"{root}?brief=true&limit=1&cursor={first['next']}").json
    assert rest["next"] is None, "a deletion is not listed"
    assert [*first["items"], *rest["items"]] == [_brief(each, each["document"]["name"]) for each in whole]
    assert api.ask("GET", f"{root}?brief=yes").status == 400


def test_a_brief_history_says_which_versions_are_deletions(api: ApiProcess) -> None:
    path = "/v1/tenants/brief/destinations/past"
    for seconds in (1.0, 2.0):
        assert api.ask("PUT", path, destination(seconds), ANY).status in (200, 201)
    assert api.ask("DELETE", path, headers=ANY).status == 204
    whole = api.ask("GET", f"{path}/history").json["items"]
    first = api.ask("GET", f"{path}/history?brief=true&limit=2").json
    rest = api.ask("GET", f"{path}/history?brief=true&limit=2&cursor={first['next']}").json
    assert [*first["items"], *rest["items"]] == [_brief(each, "past") for each in whole]
    assert [each["deleted"] for each in first["items"]] == [True, False]
    assert api.ask("GET", "/v1/tenants/brief/destinations/never/history?brief=true").status == 404


def _brief(item: dict[str, Any], name: str) -> dict[str, Any]:
    """An item of a list of destinations, in the form of the brief list."""
    kept = {key: value for key, value in item.items() if key != "document"}
    return kept | {"kind": "destination", "name": name, "deleted": item["document"] is None}


def test_one_version_of_the_history_is_read_alone(api: ApiProcess) -> None:
    path = "/v1/tenants/alone/destinations/sink"
    for seconds in (1.0, 2.0):
        assert api.ask("PUT", path, destination(seconds), ANY).status in (200, 201)
    assert api.ask("DELETE", path, headers=ANY).status == 204
    history = api.ask("GET", f"{path}/history").json["items"]
    assert [api.ask("GET", f"{path}/history/{number}").json for number in (3, 2, 1)] == history
    for number in ("0", "4", "-1", "1.0", "x", "9" * 30):
        assert api.ask("GET", f"{path}/history/{number}").status == 404, number


def test_a_version_of_another_tenants_document_is_not_there(api: ApiProcess) -> None:
    for tenant in ("apart", "nosy"):
        assert api.ask("PUT", f"/v1/tenants/{tenant}/destinations/mine", destination(), NEW).status == 201
    path = "/v1/tenants/apart/destinations/mine"
    assert api.ask("PUT", path, destination(2.0), ANY).status == 200
    viewer = api.token("nosy", "viewer")
    assert api.ask("GET", f"{path}/history/1", token=viewer).status == 404
    assert api.ask("GET", "/v1/tenants/nosy/destinations/mine/history/2", token=viewer).status == 404
    assert api.ask("GET", "/v1/tenants/nosy/destinations/mine/history/1", token=viewer).status == 200
    assert api.ask("GET", f"{path}/history/1", token=None).status == 401


def test_two_tenants_may_use_the_same_names_and_neither_learns_of_it(api: ApiProcess) -> None:
    sink, source = {"kind": "destination", "name": "d", **destination()}, {"kind": "source", "name": "s"}
    pipe = {"kind": "pipe", "name": "p", "source": "s", "destination": "d"}
    done = {
        tenant: api.ask("POST", f"/v1/tenants/{tenant}/apply", {"documents": [sink, source, pipe]})
        for tenant in ("five", "six")
    }
    for answer in done.values():
        assert answer.status == 200, answer.text
        assert [(each["action"], each["to"]) for each in answer.json["changes"]] == [("create", 1)] * 3
    keys = {answer.json["changes"][1]["write_key"] for answer in done.values()}
    assert len(keys) == 2, "a write key names one tenant's source"
    used = api.ask("DELETE", "/v1/tenants/five/destinations/d", headers=ANY)
    assert used.status == 409, "its own pipe names it"
    assert api.ask("DELETE", "/v1/tenants/five/pipes/p", headers=ANY).status == 204
    assert api.ask("DELETE", "/v1/tenants/five/destinations/d", headers=ANY).status == 204
    assert api.ask("GET", "/v1/tenants/six/destinations/d").json["version"] == 1


def test_another_tenants_write_key_is_refused_without_saying_whose_it_is(api: ApiProcess) -> None:
    source = {"write_keys": ["a key that five states itself"]}
    assert api.ask("PUT", "/v1/tenants/five/sources/keyed", source, NEW).status == 201
    refused = api.ask("PUT", "/v1/tenants/six/sources/keyed", source, NEW)
    assert (refused.status, "five" in refused.text) == (409, False)


@pytest.mark.parametrize("key", ["abcdefgh\n", " abcdefgh", "sha256:nothing"])
def test_a_write_key_with_which_no_request_is_taken_is_refused_with_its_place(
    api: ApiProcess, key: str
) -> None:
    source = {"kind": "source", "name": "stated", "write_keys": [key]}
    put = api.ask("PUT", "/v1/tenants/keys/sources/stated", source, NEW)
    applied = api.ask("POST", "/v1/tenants/keys/apply", {"documents": [source]})
    for refused in (put, applied):
        (error,) = refused.json["errors"]
        assert (refused.status, error["pointer"]) == (422, "/write_keys/0")
        assert "; write the key " in error["detail"] + "; " + error["fix"]


def test_write_keys_are_made_by_the_server_shown_once_and_rotated(api: ApiProcess) -> None:
    source = "/v1/tenants/seven/sources/seven.s"
    made = api.ask("PUT", source, {}, NEW)
    first = made.json["write_key"]
    assert first not in api.ask("GET", source).text
    second = api.ask("POST", f"{source}/keys", {"label": "rotation"})
    assert second.status == 201, second.text
    keys = api.ask("GET", f"{source}/keys").json["items"]
    assert [each["label"] for each in keys] == ["first key", "rotation"]
    assert keys[1]["last_four"] == second.json["key"][-4:]
    assert api.ask("PUT", source, {"rate_limit": 9}, ANY).json["document"]["write_keys"] != []
    assert api.ask("DELETE", f"{source}/keys/{keys[0]['id']}").status == 204
    assert api.ask("DELETE", f"{source}/keys/{keys[1]['id']}").status == 409
    assert len(api.ask("GET", f"{source}/keys").json["items"]) == 1


def test_going_back_to_an_earlier_version_of_a_source_keeps_its_present_keys(api: ApiProcess) -> None:
    path = "/v1/tenants/ten/sources/ten.s"
    assert api.ask("PUT", path, {"rate_limit": 1}, NEW).status == 201
    (leaked,) = api.ask("GET", f"{path}/keys").json["items"]
    assert api.ask("POST", f"{path}/keys", {"label": "next"}).status == 201
    assert api.ask("DELETE", f"{path}/keys/{leaked['id']}").status == 204
    kept = api.ask("PUT", path, {"rate_limit": 2}, ANY).json["document"]["write_keys"]
    plan = api.ask("POST", f"{path}/revert?dry_run=true", {"version": 1}, ANY)
    assert plan.json["changes"][0]["action"] == "change"
    back = api.ask("POST", f"{path}/revert", {"version": 1}, ANY)
    assert (back.status, back.json["document"]) == (200, back.json["document"] | {"rate_limit": 1}), back.text
    assert back.json["document"]["write_keys"] == kept
    assert leaked["id"] not in str(kept)
    assert api.ask("DELETE", path, headers=ANY).status == 204
    again = api.ask("POST", f"{path}/revert", {"version": 1}, {"If-Match": '"7"'})
    assert again.status == 412
    table = DocumentTable(api.table, api.endpoint)
    for deletion in table.documents("ten"):
        table.remove(deletion)  # as the provisioner does after a day
    assert table.documents("ten") == []
    again = api.ask("POST", f"{path}/revert", {"version": 1}, ANY)
    assert again.json["document"]["write_keys"] == kept, "those that it had when it was deleted"


def test_a_source_has_as_many_keys_as_come_back_with_it_once_it_is_deleted(api: ApiProcess) -> None:
    path, stated = "/v1/tenants/bound/sources/s", [f"write key {n}" for n in range(MOST_WRITE_KEYS)]
    assert api.ask("PUT", path, {"write_keys": stated}, NEW).status == 201
    kept = api.ask("GET", path).json["document"]["write_keys"]
    more = api.ask("POST", f"{path}/keys", {"label": "one more"})
    assert more.status == 409 and "remove one that is not used first" in more.json["detail"]
    refused = api.ask("PUT", path, {"write_keys": [*stated, "one more key"]}, ANY)
    assert refused.status == 422
    assert [each["pointer"] for each in refused.json["errors"]] == ["/write_keys"]
    assert api.ask("PUT", path, {"rate_limit": 9}, ANY).status == 200
    assert api.ask("DELETE", path, headers=ANY).status == 204
    assert api.ask("POST", f"{path}/revert", {"version": 1}, ANY).status == 200
    assert api.ask("GET", path).json["document"]["write_keys"] == kept
    assert len(api.ask("GET", f"{path}/keys?limit=200").json["items"]) == MOST_WRITE_KEYS


def test_a_source_with_more_keys_since_an_older_version_is_changed_and_loses_them(api: ApiProcess) -> None:
    path, count = "/v1/tenants/older/sources/s", MOST_WRITE_KEYS + 5
    former = sealed(Source(name="s", tenant="older", write_keys=[f"older key {n}" for n in range(count)]))
    change = Change(key=DocumentKey("source", "s"), document=former)
    DocumentTable(api.table, api.endpoint).write("older", [change], by="ann", at_ms=1)
    assert api.ask("PUT", path, {"rate_limit": 9}, ANY).status == 200
    assert api.ask("POST", f"{path}/keys", {"label": "one more"}).status == 409
    keys = api.ask("GET", f"{path}/keys?limit=200").json["items"]
    assert len(keys) == count
    for key in keys[:6]:
        assert api.ask("DELETE", f"{path}/keys/{key['id']}").status == 204
    assert api.ask("POST", f"{path}/keys", {"label": "one more"}).status == 201


def test_a_key_says_when_it_was_last_used_on_any_side(api: ApiProcess) -> None:
    source = "/v1/tenants/nine/sources/nine.s"
    assert api.ask("PUT", source, {}, NEW).status == 201
    (key,) = api.ask("GET", f"{source}/keys").json["items"]
    assert key["used_ms"] is None
    items = ItemStore(api.table, api.endpoint, int)
    for side, at_ms in (("blue", 2_000), ("green", 1_000)):
        items.put(partition("nine"), sort_key("nine.s", key["id"], side), at_ms)
    items.put(partition("nine"), sort_key("nine.s", "another", "blue"), 3_000)
    assert api.ask("GET", f"{source}/keys").json["items"] == [key | {"used_ms": 2_000}]


def test_an_unknown_member_is_refused_by_name_and_place(api: ApiProcess) -> None:
    refused = api.ask("PUT", "/v1/tenants/eight/destinations/eight.d", {**destination(), "tiemout": 1}, NEW)
    assert (refused.status, refused.headers["content-type"]) == (422, "application/problem+json")
    assert refused.json["errors"][0]["pointer"] == "/tiemout"
    assert "tiemout" in refused.json["errors"][0]["detail"]


@pytest.mark.parametrize("levels", [MAX_DOCUMENT_DEPTH + 2, 500, 900, 5_000, 100_000])
@pytest.mark.parametrize("field", ["kind", "name", "match", "transform"])
def test_a_deeply_nested_document_is_wrong_wherever_it_is_sent(
    api: ApiProcess, field: str, levels: int
) -> None:
    deep = ('{"a":' * levels + "1" + "}" * levels).encode()
    document = b'{"kind":"pipe","name":"p","source":"s","destination":"d","%s":%s}' % (field.encode(), deep)
    sent = {
        "PUT /pipes/p": document,
        "POST /apply": b'{"documents":[%s]}' % document,
        "POST /try": b'{"event":{},"pipe":%s}' % document,
    }
    for route, body in sent.items():
        method, _, path = route.partition(" ")
        refused = api.ask(method, f"/v1/tenants/deep{path}", body, ANY)
        assert (refused.status, f"{MAX_DOCUMENT_DEPTH} levels" in refused.text) == (422, True), refused.text
