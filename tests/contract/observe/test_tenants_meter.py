"""A tenant's own meter through the management API, from a real observe."""

from pathlib import Path

from shared.contracts.topics import Topic
from tests.contract.management.api_process import ApiProcess
from tests.contract.observe.conftest import Start
from tests.contract.observe.minutes import ids, recent, settled
from tests.contract.observe.side import Side


def test_a_tenant_reads_its_own_meter_and_nobody_elses(
    topics: str, start: Start, dynamodb_local: str, tmp_path: Path
) -> None:
    minute, side = recent(), Side(topics)
    side.whole(ids(0, 20), minute, "p")
    side.read()
    side.audit()
    observe = start()
    settled(observe, minute)
    api = ApiProcess(tmp_path, dynamodb_local, observe_url=observe.url)
    try:
        token, path = api.token("acme", "viewer"), f"/meter/minutes/{minute}"
        mine = api.ask("GET", f"/v1/tenants/acme{path}", token=token)
        assert (mine.status, mine.json) == (200, observe.card(minute, "acme"))
        assert mine.json["delivered"] == 20
        assert api.ask("GET", f"/v1/tenants/zoo{path}", token=token).status == 404
        assert api.ask("GET", f"/v1/tenants/zoo{path}").json["delivered"] == 0
        other = api.ask("GET", f"/v1/tenants/acme{path}?tenant=zoo", token=token)
        assert (other.status, "no such parameter" in other.json["detail"]) == (400, True), "the path decides"
        places = api.ask("GET", "/v1/tenants/acme/meter/events/e7", token=token).json["places"]
        assert next(each["topic"] for each in places) == Topic.COLLECTED
        wrong = api.ask("GET", "/v1/tenants/acme/meter/minutes?from=x", token=token)
        assert (wrong.status, "from: give a whole number" in wrong.json["detail"]) == (400, True)
        observe.kill()
        away = api.ask("GET", f"/v1/tenants/acme{path}", token=token)
        assert (away.status, away.headers["retry-after"]) == (503, "5")
        assert api.ask("GET", "/v1/tenants/acme/documents", token=token).status == 200
    finally:
        api.kill()
