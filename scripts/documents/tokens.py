"""Tokens of the management API, made and revoked through it."""

from typing import Any, Final

from scripts.documents.api_client import ApiClient, DocumentsError

_OPERATOR: Final = "operator"


class Tokens:
    """Methods raise DocumentsError if the API does not answer, and RefusedError if it refuses."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    def of(self, tenant: str | None) -> list[Any]:
        """A tenant's tokens without their texts; None is the own tenant, for an operator the operators'."""
        return list(self._api.items(self._path(tenant)))

    def make(self, tenant: str | None, role: str, label: str, days: float | None) -> Any:
        """A new token, with its text in `token`.

        Raises:
            DocumentsError: also if no tenant is known for it, and it is not an operator's.
        """
        path = self._path(tenant)
        if path == "/v1/tokens" and role != _OPERATOR:
            raise DocumentsError(f"whose {role} is it to be?", "add --tenant")
        return self._api.send("POST", path, {"role": role, "label": label, "days": days})

    def revoke(self, tenant: str | None, token: str) -> None:
        """Revoke a token, which holds at once."""
        self._api.send("DELETE", f"{self._path(tenant)}/{token}")

    def _path(self, tenant: str | None) -> str:
        whose = tenant or self._api.server.tenant or self._api.get("/v1/whoami")["tenant"]
        return f"/v1/tenants/{whose}/tokens" if whose is not None else "/v1/tokens"
