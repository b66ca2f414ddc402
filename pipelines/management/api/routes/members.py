"""Routes of tenants, their members, and invitations."""

from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response
from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from pipelines.management.api import intent, requests, views
from pipelines.management.api.declared import Text, route
from pipelines.management.api.intent import wrong_request
from pipelines.management.api.problems import ProblemError, not_found
from pipelines.management.api.rights.access import (
    Access,
    bearer_of,
    body_reader,
    refuse_wrong_parameters,
    unauthorized,
)
from pipelines.management.api.rights.authentication import Authentication
from pipelines.management.api.rights.callers import Caller
from pipelines.management.api.rights.made_access import MadeAccess, MadeAccessFinder
from pipelines.management.api.rights.member_store import INVITATION_PREFIX, MemberStore, TenantRecord
from pipelines.management.api.rights.permissions import Action, may_grant
from pipelines.management.api.rights.teams import Member, Membership, NoMemberError, TeamError
from pipelines.management.api.routes.documents import decoded
from shared.contracts.api_answers.access import (
    ChangedMember,
    InvitationView,
    LeftAccess,
    MadeTenant,
    MemberView,
    NewInvitation,
    Redeemed,
    Role,
)
from shared.contracts.api_answers.pages import Page
from shared.runtime.clock import Clock

_TENANT = "/v1/tenants/{tenant}"
_MEMBER = _TENANT + "/members/{member}"
_INVITATIONS = _TENANT + "/invitations"
_DAYS: Final = 7.0
_MOST_DAYS: Final = 30


class RoleRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A member's new role."""

    role: Role


class InvitationRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """For whom an invitation is, and for how many days."""

    role: Role
    label: Annotated[str, Meta(min_length=1, max_length=100)]
    days: Annotated[float, Meta(gt=0, le=_MOST_DAYS)] = _DAYS


class Redemption(Struct, frozen=True, forbid_unknown_fields=True):
    """The text of an invitation."""

    invitation: Annotated[str, Meta(min_length=1, max_length=200)]


def tenant_routes(store: MemberStore, access: Access, clock: Clock) -> APIRouter:
    """The route that makes a tenant."""
    router = APIRouter()

    @router.put(_TENANT, **route(201, 200, 409, answers=[MadeTenant]))
    def make(tenant: str, caller: Annotated[Caller, Depends(access.guard(Action.OPERATE))]) -> Response:
        intent.refuse_own(tenant)
        record = TenantRecord(made_ms=clock(), made_by=caller.signature)
        there = store.make_tenant(tenant, record)
        status = HTTPStatus.CREATED if there is None else HTTPStatus.OK
        made = there or record
        answer = MadeTenant(tenant=tenant, made_ms=made.made_ms, made_by=made.made_by)
        return views.json_response(answer, status)

    return router


def member_routes(
    store: MemberStore, made: MadeAccessFinder, access: Access, clock: Clock, body_bytes: int
) -> APIRouter:
    """Routes of a tenant's members."""
    router = APIRouter()
    manage = Depends(access.guard(Action.MEMBERS))

    @router.get(_TENANT + "/members", dependencies=[manage], **route(200, answers=[Page[MemberView]]))
    def members(tenant: str, limit: Text = None, cursor: Text = None) -> Response:
        found = store.team(tenant).members.values()
        page, following = views.page_of(found, lambda each: (each.since_ms, each.id), limit, cursor)
        return views.listed([_shown(each) for each in page], following)

    outliving = _Outliving(made, clock)
    _add_changes(router, store, outliving, manage, body_bytes)
    _add_removal(router, store, outliving, manage)
    return router


class _Outliving:
    """Access that members made above the roles that they have now."""

    def __init__(self, made: MadeAccessFinder, clock: Clock) -> None:
        self._made, self._clock = made, clock

    def left(self, tenant: str, member: str, role: Role | None, *, revoke: bool) -> MadeAccess:
        """Access that a member made above `role`; all of it for None, a former member; `revoke` ends it."""
        found = self._made.made_by(tenant, member, role, self._clock())
        if not revoke:
            return found
        self._made.end(tenant, found, self._clock())
        return replace(found, revoked=True)

    def has_made(self, tenant: str, member: str) -> bool:
        """Whether the member made anything."""
        return self._made.has_made(tenant, member, self._clock())


def _add_changes(
    router: APIRouter, store: MemberStore, outliving: _Outliving, manage: Any, body_bytes: int
) -> None:
    """The route that gives a member another role."""

    @router.put(_MEMBER, **route(200, 409, body=RoleRequest, answers=[ChangedMember]))
    def change(  # noqa: PLR0913, PLR0917  # what the request has
        tenant: str,
        member: str,
        request: Request,
        caller: Annotated[Caller, manage],
        body: Annotated[bytes, Depends(body_reader(body_bytes))],
        revoke: Text = None,
    ) -> Response:
        asked: RoleRequest = decoded(RoleRequest, body)
        ends = requests.flag("revoke", revoke)
        _refuse_role(caller, asked.role)
        try:
            changed = store.change_role(tenant, member, asked.role, by_operator=_operates(caller))
        except (NoMemberError, TeamError) as error:
            raise _refusal(error) from None
        request.state.detail = f"{changed.label}: {changed.role}"
        left = outliving.left(tenant, member, changed.role, revoke=ends)
        return views.json_response(ChangedMember(**asdict(_shown(changed)), **asdict(left)))


def _add_removal(router: APIRouter, store: MemberStore, outliving: _Outliving, manage: Any) -> None:
    """The route that removes a member."""

    @router.delete(_MEMBER, **route(200, 409, answers=[LeftAccess]))
    def remove(
        tenant: str,
        member: str,
        request: Request,
        caller: Annotated[Caller, manage],
        revoke: Text = None,
    ) -> Response:
        ends = requests.flag("revoke", revoke)
        try:
            store.remove(tenant, member, by_operator=_operates(caller))
        except TeamError as error:
            raise _refusal(error) from None
        except NoMemberError:
            # Perhaps by a request that failed before it had ended what the member made: this one goes on.
            if not (ends and outliving.has_made(tenant, member)):
                raise not_found() from None
        left = outliving.left(tenant, member, None, revoke=ends)
        request.state.detail = _ended(left)
        return views.json_response(left)


def invitation_routes(store: MemberStore, access: Access, clock: Clock, body_bytes: int) -> APIRouter:
    """Routes of the invitations into a tenant."""
    router = APIRouter()
    manage = Depends(access.guard(Action.MEMBERS))

    @router.get(_INVITATIONS, dependencies=[manage], **route(200, answers=[Page[InvitationView]]))
    def invitations(tenant: str, limit: Text = None, cursor: Text = None) -> Response:
        found = store.invitations(tenant, clock())
        return views.listed(*views.page_of(found, lambda each: (each.made_ms, each.id), limit, cursor))

    @router.post(_INVITATIONS, **route(201, 409, body=InvitationRequest, answers=[NewInvitation]))
    def invite(
        tenant: str,
        request: Request,
        caller: Annotated[Caller, manage],
        body: Annotated[bytes, Depends(body_reader(body_bytes))],
    ) -> Response:
        asked: InvitationRequest = decoded(InvitationRequest, body)
        intent.refuse_own(tenant)
        _refuse_role(caller, asked.role)
        by, now = caller.signature, clock()
        try:
            text, made = store.invite(
                tenant, asked.role, label=asked.label, by=by, now_ms=now, days=asked.days
            )
        except TeamError as error:
            raise _refusal(error) from None
        request.state.detail = f"{made.id}: {made.role}"
        return views.json_response(NewInvitation(**asdict(made), invitation=text), HTTPStatus.CREATED)

    @router.delete(_INVITATIONS + "/{invitation_id}", dependencies=[manage], **route(204))
    def withdraw(tenant: str, invitation_id: str) -> Response:
        if not store.withdraw(tenant, invitation_id):
            raise not_found()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return router


def redeem_route(
    store: MemberStore, authentication: Authentication, access: Access, clock: Clock, body_bytes: int
) -> APIRouter:
    """The route by which the invited becomes a member.

    A person signed in by the issuer sends the invitation in the body. Without an issuer the invitation is
    itself the bearer, so that here too every request without a valid secret is answered 401.
    """
    router = APIRouter()
    known = access.guard(Action.KNOW)

    def person(request: Request) -> Caller | None:
        if not _comes_with_invitation(request, authentication):
            return known(request)
        refuse_wrong_parameters(request)
        return None

    @router.post("/v1/invitations/redeem", **route(200, 201, 409, body=Redemption, answers=[Redeemed]))
    def redeem(
        request: Request,
        caller: Annotated[Caller | None, Depends(person)],
        body: Annotated[bytes, Depends(body_reader(body_bytes))],
    ) -> Response:
        try:
            if caller is None:
                return _with_token(store, request, clock())
            return _bound(store, request, caller, body, clock())
        except TeamError as error:
            raise _refusal(error) from None

    return router


def _comes_with_invitation(request: Request, authentication: Authentication) -> bool:
    return not authentication.signs_people_in and bearer_of(request).startswith(INVITATION_PREFIX)


def _with_token(store: MemberStore, request: Request, now_ms: int) -> Response:
    """A member with a personal token, shown once."""
    made = store.admit_holder(bearer_of(request), now_ms)
    if made is None:
        raise unauthorized("the invitation is unknown, used, withdrawn or expired; ask for another")
    text, token = made
    request.state.caller = Caller(
        id=token.id, label=token.label, role=token.role, tenant=token.tenant, expires_ms=None
    )
    assert token.tenant is not None  # a member's
    member = Redeemed(id=token.id, label=token.label, tenant=token.tenant, role=token.role, token=text)
    return views.json_response(member, HTTPStatus.CREATED)


def _bound(store: MemberStore, request: Request, caller: Caller, body: bytes, now_ms: int) -> Response:
    """The person as a member."""
    if caller.person is None:
        raise ProblemError(
            HTTPStatus.FORBIDDEN,
            "an invitation is for a person: sign in, or without an issuer send it as the bearer itself",
        )
    asked: Redemption = decoded(Redemption, body)
    found: Membership | None = store.admit(asked.invitation, caller.person, now_ms)
    if found is None:
        raise ProblemError(
            HTTPStatus.NOT_FOUND, "the invitation is unknown, used, withdrawn or expired; ask for another"
        )
    request.state.caller = replace(caller, role=found.role, tenant=found.tenant, stranger=False)
    member = Redeemed(id=caller.id, label=caller.label, tenant=found.tenant, role=found.role, token=None)
    return views.json_response(member)


def _shown(member: Member) -> MemberView:
    """A member as others see it."""
    return MemberView(**{name: getattr(member, name) for name in MemberView.__struct_fields__})


def _ended(left: MadeAccess) -> str:
    """The audit log's note on access that a removed member had made; empty if there is none."""
    if not (left.tokens or left.invitations):
        return ""
    counts = f"tokens: {len(left.tokens)}, invitations: {len(left.invitations)}"
    return f"{'ended' if left.revoked else 'live on'}: {counts}"


def _operates(caller: Caller) -> bool:
    return caller.role is Role.OPERATOR


def _refuse_role(caller: Caller, wanted: Role) -> None:
    if wanted is Role.OPERATOR:
        raise wrong_request("/role", "operators belong to no tenant", "see POST /v1/tokens")
    if caller.role is None or not may_grant(caller.role, wanted):
        raise ProblemError(HTTPStatus.FORBIDDEN, f"the role {caller.role} may not give {wanted}")


def _refusal(error: Exception) -> ProblemError:
    return not_found() if isinstance(error, NoMemberError) else ProblemError(HTTPStatus.CONFLICT, str(error))
