"""The limits of a tenant over HTTP."""

from pathlib import Path
from typing import Any

import pytest

from tests.contract.management.api_process import ANY, NEW, destination, running_api


def test_a_tenant_at_its_limit_is_told_so_and_goes_on_after_a_deletion(
    dynamodb_local: str, tmp_path: Path
) -> None:
    with running_api(tmp_path, dynamodb_local, tenant_documents="2", tenant_bytes="2000") as api:
        path = "/v1/tenants/acme/destinations"
        bundle = {"documents": [{"kind": "destination", "name": f"d{n}", **destination()} for n in range(3)]}
        for query in ("?dry_run=true", ""):
            refused = api.ask("POST", f"/v1/tenants/acme/apply{query}", bundle)
            assert (refused.status, "3 documents, and may have 2" in refused.text) == (409, True), (
                refused.text
            )
        for name in ("a", "b"):
            assert api.ask("PUT", f"{path}/{name}", destination(), NEW).status == 201
        refused = api.ask("PUT", f"{path}/c", destination(), NEW)
        assert (refused.status, "HIFI_TENANT_DOCUMENTS" in refused.text) == (409, True), refused.text
        assert api.ask("PUT", "/v1/tenants/zoo/destinations/c", destination(), NEW).status == 201
        assert api.ask("DELETE", f"{path}/a", headers=ANY).status == 204
        assert api.ask("PUT", f"{path}/c", destination(), NEW).status == 201
        large = {"options": {"url": "https://example.com/" + "x" * 2_000}}
        refused = api.ask("PUT", f"{path}/c", large, ANY)
        assert (refused.status, "HIFI_TENANT_BYTES" in refused.text) == (409, True), refused.text


def test_one_contact_too_many_is_refused_and_those_of_before_a_limit_can_be_changed_and_deleted(
    dynamodb_local: str, tmp_path: Path
) -> None:
    path, body = "/v1/tenants/acme/contacts", {"email": "ops@example.com"}
    with running_api(tmp_path, dynamodb_local) as api:
        for name in ("a", "b", "c"):
            assert api.ask("PUT", f"{path}/{name}", body, NEW).status == 201
    with running_api(tmp_path, dynamodb_local, table=api.table, tenant_contacts="2") as api:
        refused = api.ask("PUT", f"{path}/d", body, NEW)
        assert (refused.status, "HIFI_TENANT_CONTACTS" in refused.text) == (409, True), refused.text
        assert api.ask("PUT", f"{path}/a", {"email": "other@example.com"}, ANY).status == 200
        for name in ("a", "b"):
            assert api.ask("DELETE", f"{path}/{name}", headers=ANY).status == 204
        assert api.ask("PUT", f"{path}/d", body, NEW).status == 201


def test_a_destination_that_names_too_many_secrets_is_refused(dynamodb_local: str, tmp_path: Path) -> None:
    def naming(count: int) -> dict[str, Any]:
        headers = {f"X-{number}": f"secret://acme/x{number}" for number in range(count)}
        return {"options": {"url": "https://example.com/hook", "headers": headers}}

    with running_api(tmp_path, dynamodb_local, tenant_secrets="5") as api:
        path = "/v1/tenants/acme/destinations/d"
        refused = api.ask("PUT", path, naming(6), NEW)
        assert (refused.status, "HIFI_TENANT_SECRETS" in refused.text) == (409, True), refused.text
        assert api.ask("PUT", path, naming(5), NEW).status == 201


def test_a_pipe_too_many_that_takes_the_same_events_is_refused(dynamodb_local: str, tmp_path: Path) -> None:
    with running_api(tmp_path, dynamodb_local, tenant_copies="2") as api:
        own, pipe = "/v1/tenants/acme", {"source": "s", "destination": "d"}
        assert api.ask("PUT", f"{own}/sources/s", {}, NEW).status == 201
        assert api.ask("PUT", f"{own}/destinations/d", destination(), NEW).status == 201
        for name in ("a", "b"):
            assert api.ask("PUT", f"{own}/pipes/{name}", pipe, NEW).status == 201
        refused = api.ask("PUT", f"{own}/pipes/c", pipe, NEW)
        assert (refused.status, "HIFI_TENANT_COPIES" in refused.text) == (409, True), refused.text
        assert api.ask("PUT", f"{own}/pipes/c", pipe | {"match": {"type": ["order"]}}, NEW).status == 201


@pytest.mark.parametrize("step", [40, pytest.param(20, marks=pytest.mark.proof)])
def test_a_tenant_at_its_limit_can_rotate_a_write_key(dynamodb_local: str, tmp_path: Path, step: int) -> None:
    with running_api(tmp_path, dynamodb_local, tenant_bytes="1024") as api:
        path = "/v1/tenants/acme/sources/s"
        assert api.ask("PUT", path, {}, NEW).status == 201
        (first,) = api.ask("GET", f"{path}/keys").json["items"]
        full = False
        for room in range(1, 1_000, step):
            options = {"url": "https://example.com/" + "x" * room}
            answer = api.ask("PUT", "/v1/tenants/acme/destinations/d", {"options": options}, ANY)
            full = full or answer.status == 409
        assert full, "less than the digest of a key is left"
        assert api.ask("POST", f"{path}/keys", {"label": "next"}).status == 201
        assert api.ask("DELETE", f"{path}/keys/{first['id']}").status == 204
