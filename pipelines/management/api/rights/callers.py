"""Callers: tokens, and people whom the issuer signed in. Pure."""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from pipelines.management.api.requests import is_name
from pipelines.management.api.rights.permissions import higher
from shared.contracts.api_answers.access import Role

_SHOWN: Final = 100
_ID: Final = 32


class ClaimNames(Struct, frozen=True, kw_only=True):
    """Which claims of a person's token say what."""

    label: str
    """Shown for the person."""

    tenant: str | None = None
    """The tenant that the issuer gives a role in; None: roles come from membership alone."""

    role: str | None = None


class Person(Struct, frozen=True, kw_only=True):
    """A person whom the issuer signed in."""

    id: str
    """Derived from issuer and subject: the same at each sign-in, and unique to the person."""

    issuer: str
    subject: str
    label: str
    expires_ms: int
    granted: Mapping[str, Role] = {}
    """Roles that the token itself gives, by tenant."""

    operator: bool = False


class Caller(Struct, frozen=True, kw_only=True):
    """The sender of a request, and its role in the tenant of the path."""

    id: str
    """Id of the token, or of the person."""

    label: str
    role: Role | None
    """None: signed in, but without a role there."""

    tenant: str | None
    """Where it has that role; None for an operator, and without a role."""

    expires_ms: int | None
    last_four: str | None = None
    """Last four characters of the token; None for a person whom the issuer signed in."""

    person: Person | None = None
    stranger: bool = False
    """A person without any role: refusals are only logged, as strangers could otherwise fill the table."""

    @property
    def signature(self) -> str:
        """How the history and the audit log name the caller's writes."""
        return f"{self.label} ({self.id})"


def person_id(issuer: str, subject: str) -> str:
    """The id of a person."""
    return hashlib.sha256(msgspec.json.encode([issuer, subject])).hexdigest()[:_ID]


def person_of(claims: Mapping[str, Any], names: ClaimNames) -> Person:
    """The person of a verified token. A role that the claims do not give clearly is not given."""
    issuer, subject = str(claims["iss"]), str(claims["sub"])
    role, tenant = _role(claims, names), claims.get(names.tenant) if names.tenant else None
    granted = {}
    if role not in (None, Role.OPERATOR) and isinstance(tenant, str) and is_name(tenant):
        granted = {tenant: role}
    return Person(
        id=person_id(issuer, subject),
        issuer=issuer,
        subject=subject,
        label=shown_label(claims.get(names.label), subject),
        expires_ms=int(claims["exp"] * 1_000),
        granted={name: each for name, each in granted.items() if each is not None},
        operator=role is Role.OPERATOR and tenant is None,
    )


def roles_of(person: Person, memberships: Mapping[str, Role]) -> dict[str, Role]:
    """A person's role in each tenant: what membership or the token gives, the higher of both."""
    found = dict(memberships)
    for tenant, role in person.granted.items():
        found[tenant] = higher(found.get(tenant, role), role)
    return found


def shown_label(claim: object, otherwise: str) -> str:
    """The label that people see for a caller: one line, of a bounded length."""
    text = claim if isinstance(claim, str) and claim.strip() else otherwise
    return "".join(each if each.isprintable() else " " for each in text).strip()[:_SHOWN]


def _role(claims: Mapping[str, Any], names: ClaimNames) -> Role | None:
    found = claims.get(names.role) if names.role else None
    try:
        return Role(found) if isinstance(found, str) else None
    except ValueError:
        return None
