"""The audit log: a row for each write that may have happened, and few rows for endless refused requests."""

from shared.contracts.envelope import MINUTE_MS
from shared.runtime.clock import wall_clock
from tests.contract.management.api_process import NEW, ApiProcess

ROOT = "/v1/tenants/audited"


def minute_now() -> int:
    return wall_clock() // MINUTE_MS


def test_refused_requests_share_a_row_a_minute_and_each_success_has_its_own(api: ApiProcess) -> None:
    viewer, first = api.token("audited", "viewer", label="ann"), minute_now()
    for n in range(3):
        assert api.ask("PUT", f"{ROOT}/sources/s{n}", {}, NEW).status == 201
    for n in range(70):
        assert api.ask("PUT", f"{ROOT}/sources/x{n}", {}, NEW, viewer).status == 403
    for n in range(5):
        assert api.ask("PUT", f"{ROOT}/sources/s{n % 3}", {"nonsense": n}, NEW).status in (412, 422)
    rows = api.ask("GET", f"{ROOT}/audit?limit=200").json["items"]
    made = [row for row in rows if row["status"] == 201 and row["method"] == "PUT"]
    assert [row["count"] for row in made] == [1, 1, 1]
    refused = [row for row in rows if row["status"] == 403]
    minutes = minute_now() - first + 1
    assert len(refused) <= minutes, "one a minute"
    assert {(row["label"], row["role"]) for row in refused} == {("ann", "viewer")}
    assert 35 <= sum(row["count"] for row in refused) <= 70
    own = [row for row in rows if row["status"] in (412, 422)]
    assert sum(row["count"] for row in own) == 5 and len(own) <= 2 * minutes


def test_what_the_server_cannot_begin_shares_a_row_though_it_is_a_503(api: ApiProcess) -> None:
    replay, first = "/v1/tenants/unbegun/dead-letters/replay", minute_now()
    for _ in range(40):
        assert api.ask("POST", replay, {"filter": {}}).status == 503, "this API has no brokers"
    rows = api.ask("GET", "/v1/tenants/unbegun/audit?limit=200").json["items"]
    assert {row["status"] for row in rows} == {503}
    assert len(rows) <= minute_now() - first + 1, "one a minute"
    assert sum(row["count"] for row in rows) >= 20


def test_the_log_has_few_lines_of_requests_without_a_token(api: ApiProcess) -> None:
    before = api.log.read_text().count("refused without a token")
    for n in range(60):
        assert api.ask("DELETE", f"{ROOT}/sources/x{n}", token=None).status == 401
    lines = api.log.read_text().count("refused without a token") - before
    assert 1 <= lines <= 40


def test_operators_read_what_was_done_to_their_own_tokens(api: ApiProcess) -> None:
    made = api.ask("POST", "/v1/tokens", {"role": "operator", "label": "audited"}).json
    assert api.ask("DELETE", f"/v1/tokens/{made['id']}").status == 204
    rows = api.ask("GET", "/v1/audit?limit=200").json["items"]
    found = [(row["method"], row["path"], row["status"]) for row in rows]
    assert found.index(("DELETE", f"/v1/tokens/{made['id']}", 204)) < found.index(("POST", "/v1/tokens", 201))
    assert not any("/tenants/" in row["path"] and row["status"] < 400 for row in rows)
    first = api.ask("GET", "/v1/audit?limit=1").json
    second = api.ask("GET", f"/v1/audit?limit=1&cursor={first['next']}").json
    assert [*first["items"], *second["items"]] == rows[:2]
    owner = api.token("audited", "owner")
    assert api.ask("GET", "/v1/audit", token=owner).status == 403
