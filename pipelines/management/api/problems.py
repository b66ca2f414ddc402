"""Refusals, as RFC 9457 problem details."""

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final

import msgspec
from fastapi import Response

from shared.contracts.api_answers.problems import FieldError, Problem

PROBLEM_TYPE: Final = "application/problem+json"
_NO_TYPE: Final = "about:blank"
"""The status says all (RFC 9457, section 4.2.1)."""

_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


class ProblemError(Exception):
    """A request is refused."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Refuse with a status and a sentence; `errors` point at fields."""
        super().__init__(detail)
        self.status, self.detail, self.errors, self.headers = HTTPStatus(status), detail, errors, headers

    def details(self) -> Problem:
        """The problem details."""
        return Problem(
            type=_NO_TYPE,
            title=self.status.phrase,
            status=int(self.status),
            detail=self.detail,
            errors=self.errors,
        )

    def response(self) -> Response:
        """The answer."""
        body = msgspec.json.encode(self.details())
        return Response(body, int(self.status), dict(self.headers or {}), PROBLEM_TYPE)


class NotBegunError(ProblemError):
    """A request that the server cannot take, now or at all: nothing of it was done (503)."""

    def __init__(self, detail: str, *, retry_seconds: int | None = None) -> None:
        """`retry_seconds` after which it may be sent again; None for what only an operator can change."""
        headers = {} if retry_seconds is None else {"Retry-After": str(retry_seconds)}
        super().__init__(HTTPStatus.SERVICE_UNAVAILABLE, detail, headers=headers)


def busy(retry_seconds: int) -> NotBegunError:
    """Too many requests of a kind are under way."""
    return NotBegunError("too many of these at once; try again", retry_seconds=retry_seconds)


def tenant_busy(retry_seconds: int) -> ProblemError:
    """Too many requests of a kind are under way for one tenant, although the server could take more."""
    said = "too many of these at once for this tenant; wait for the others, or try again"
    headers = {"Retry-After": str(retry_seconds)}
    return ProblemError(HTTPStatus.TOO_MANY_REQUESTS, said, headers=headers)


def server_busy(what: str, retry_seconds: int) -> ProblemError:
    """The same of all tenants together; not 503, which says of a write that it may have been done."""
    said = f"too many {what} at once; try again"
    headers = {"Retry-After": str(retry_seconds)}
    return ProblemError(HTTPStatus.TOO_MANY_REQUESTS, said, headers=headers)


def no_brokers() -> NotBegunError:
    """The server belongs to no side, so there are no topics that it could read."""
    return NotBegunError("this server has no brokers: its operator sets HIFI_BOOTSTRAP")


def not_found() -> ProblemError:
    """The same for what is not there and for what is another tenant's."""
    return ProblemError(HTTPStatus.NOT_FOUND, "not found")


def pointer(path: str) -> str:
    """The JSON pointer of a path like `$.match.data[0]`."""
    steps = (name or index for name, index in _STEP.findall(path))
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps if step != "...")
