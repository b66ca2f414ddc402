"""The audit logs that each role may read."""

from typing import Any

from tests.unit.pipelines.management.api.whole_app import Client, Rows, app_over, played


class Tokens:
    """A store without tokens to revoke."""

    def revoke(self, *_: Any) -> None:
        """Find no token."""


def test_what_operators_did_without_a_tenant_is_theirs_to_read() -> None:
    rows = Rows()

    async def scene(client: Client) -> None:
        for path in ("/v1/tokens/1", "/v1/tenants/shop/tokens/2"):
            assert (await client.ask("DELETE", path)).status_code == 404
        for path, row in (
            ("/v1/audit", "/v1/tokens/1"),
            ("/v1/tenants/shop/audit", "/v1/tenants/shop/tokens/2"),
        ):
            answer = await client.ask("GET", path)
            assert [each["path"] for each in answer.json()["items"]] == [row]
        assert (await client.ask("GET", "/v1/audit", "owner@shop")).status_code == 403

    played(app_over(rows=rows, tokens=Tokens()), scene)
