"""Members of a tenant and invitations, through the management API."""

import re
from typing import Any, Final

from scripts.documents.api_client import ApiClient, DocumentsError, RefusedError, Server

INVITATION_PREFIX = "hifi_invite_"
_ID: Final = re.compile(r"[0-9a-f]{16,32}")


class Members:
    """Methods raise DocumentsError if the API does not answer, and RefusedError if it refuses."""

    def __init__(self, api: ApiClient, tenant: str | None) -> None:
        """`tenant` None is the own one.

        Raises:
            DocumentsError: also if it is not clear which tenant is meant.
        """
        whose = tenant or api.server.tenant or api.get("/v1/whoami")["tenant"]
        if whose is None:
            raise DocumentsError("it is not clear which tenant is meant", "add --tenant")
        self._api, self.tenant = api, whose

    def all(self) -> list[Any]:
        """The members, the longest there first."""
        return list(self._api.items(self._path("members")))

    def invitations(self) -> list[Any]:
        """The open invitations, without their texts."""
        return list(self._api.items(self._path("invitations")))

    def invite(self, role: str, label: str, days: float | None) -> Any:
        """A new invitation, with its text in `invitation`."""
        asked = {"role": role, "label": label} | ({} if days is None else {"days": days})
        return self._api.send("POST", self._path("invitations"), asked)

    def withdraw(self, invitation: str) -> None:
        """Withdraw an invitation."""
        self._api.send("DELETE", self._path("invitations", invitation))

    def set_role(self, member: str, role: str, *, revoke: bool) -> Any:
        """Give a member another role; what it made that may more, ended with `revoke`."""
        path = self._path("members", self._id(member))
        return self._api.send("PUT", path, {"role": role}, query=_query(revoke=revoke))

    def remove(self, member: str, *, revoke: bool) -> Any:
        """Remove a member, which holds at once; what it made, ended with `revoke`.

        With `revoke`, an id may be that of a member who is gone: by a request that failed before it was done.
        """
        gone = revoke and _ID.fullmatch(member) is not None and not self._called(member)
        path = self._path("members", member if gone else self._id(member))
        return self._api.send("DELETE", path, query=_query(revoke=revoke))

    def _called(self, member: str) -> list[str]:
        """The ids of the members of an id or a label."""
        return [str(each["id"]) for each in self.all() if member in (each["id"], each["label"])]

    def _id(self, member: str) -> str:
        """The id of a member, which may be named by its label if that is one's only."""
        found = self._called(member)
        if len(found) != 1:
            several = "several members are" if found else "no member is"
            raise DocumentsError(f"{several} called {member}", "`hifi members list` shows their ids")
        return found[0]

    def _path(self, *steps: str) -> str:
        return "/".join(("/v1/tenants", self.tenant, *steps))


def _query(*, revoke: bool) -> dict[str, str]:
    return {"revoke": "true"} if revoke else {}


def personal_token(url: str, invitation: str) -> str:
    """The token of who redeems an invitation at a server without an issuer.

    Raises:
        DocumentsError: if the invitation is not open.
    """
    with ApiClient(Server(url=url, token=invitation)) as api:
        try:
            return str(api.send("POST", "/v1/invitations/redeem", {})["token"])
        except RefusedError:
            raise
        except DocumentsError as error:
            raise DocumentsError(
                f"{error}: the invitation is unknown, used or expired, or people sign in there",
                "open its link in a browser, or ask for another",
            ) from None
