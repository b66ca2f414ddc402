"""Access to the meter of all tenants: behind TLS for operators only, as long as the API confirms the role."""

from http import HTTPStatus
from typing import Protocol

from pipelines.management.console.api_client import ProblemError
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.pages.visit import Visit
from shared.oidc.errors import ProviderAwayError


class AccessEndedError(Exception):
    """The session has ended, or is not an operator's any more."""


class Access(Protocol):
    """The right to see the meter."""

    @property
    def is_open(self) -> bool:
        """Whether it holds as far as this process knows; asks no one."""

    async def confirm(self) -> None:
        """Ask whether it still holds.

        Raises:
            AccessEndedError: if it does not.
            UnreachableError: if that cannot be found out now.
        """


class AnyonesAccess:
    """Everyone's access, in a console without TLS: on loopback, or behind a proxy that signs operators in."""

    is_open = True

    async def confirm(self) -> None:
        """Do nothing: everyone has access."""


class OperatorAccess:
    """A session's access, while its token is an operator's."""

    def __init__(self, visit: Visit) -> None:
        self._visit, self._sessions = visit, visit.sessions

    @property
    def is_open(self) -> bool:
        """Whether the session goes on, and was an operator's when the API was last asked."""
        found = self._sessions.find(self._visit.session.id)
        return found is not None and found.identity.operates

    async def confirm(self) -> None:
        """Renew the session if that is due, and ask the API for its role."""
        mine = self._visit.session.id
        try:
            if await self._sessions.renewed(mine) is None:
                raise AccessEndedError("the session has ended")
            identity = await self._visit.account.identity()
        except ProviderAwayError as error:
            raise UnreachableError(f"the sign-in service does not answer: {error}; try again") from error
        except ProblemError as error:
            if error.status != HTTPStatus.UNAUTHORIZED:
                raise UnreachableError(f"the management API: {error}; try again") from error
            self._sessions.end(mine)
            raise AccessEndedError("the token is not valid any more") from error
        self._sessions.update(mine, identity)
        if not identity.operates:
            raise AccessEndedError("the session is not an operator's")
