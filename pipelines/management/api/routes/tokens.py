"""Routes of write keys, tokens and the audit log."""

from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response
from msgspec import Meta, Struct
from msgspec.structs import asdict

from pipelines.management.api import intent, requests, views
from pipelines.management.api.declared import Text, route
from pipelines.management.api.intent import wrong_request
from pipelines.management.api.problems import ProblemError, not_found
from pipelines.management.api.rights.access import Access, Guard, body_reader
from pipelines.management.api.rights.audit import AuditLog, AuditRow
from pipelines.management.api.rights.authentication import Authentication
from pipelines.management.api.rights.callers import Caller
from pipelines.management.api.rights.permissions import Action, may_grant
from pipelines.management.api.rights.teams import Membership
from pipelines.management.api.rights.token_store import TokensFullError, TokenStore
from pipelines.management.api.rights.write_limits import WriteLimits
from pipelines.management.api.routes.documents import decoded
from pipelines.management.api.source_keys import SourceKeys
from shared.contracts.api_answers.access import Identity, NewKey, NewToken, Role, TokenView
from shared.contracts.api_answers.pages import Page
from shared.contracts.write_keys import WriteKey
from shared.runtime.clock import Clock

Label = Annotated[str, Meta(min_length=1, max_length=100)]
_KEYS = "/v1/tenants/{tenant}/sources/{name}/keys"
_TENANT: Final[dict[str, Any]] = {
    "name": "tenant",
    "in": "path",
    "required": True,
    "schema": {"type": "string"},
}
_TOKENS = "/v1/tenants/{tenant}/tokens"


class KeyRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What a new write key is for."""

    label: Label


class TokenRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What a new token may, what it is for, and for how many days; null is for ever."""

    role: Role
    label: Label
    days: Annotated[float, Meta(gt=0, le=3_650)] | None = None


def key_routes(source_keys: SourceKeys, access: Access, writes: WriteLimits, body_bytes: int) -> APIRouter:
    """Routes of write keys."""
    router = APIRouter()
    writer = Depends(access.guard(Action.WRITE))

    @router.get(
        _KEYS, dependencies=[Depends(access.guard(Action.READ))], **route(200, answers=[Page[WriteKey]])
    )
    def keys(tenant: str, name: str, limit: Text = None, cursor: Text = None) -> Response:
        found = source_keys.listed(tenant, _name(name))
        return views.listed(*views.page_of(found, lambda key: (key.made_ms or 0, key.id), limit, cursor))

    @router.post(_KEYS, **route(201, 409, 412, body=KeyRequest, answers=[NewKey]))
    def make(
        tenant: str,
        name: str,
        token: Annotated[Caller, writer],
        body: Annotated[bytes, Depends(writes.body(body_bytes), scope="function")],
    ) -> Response:
        label = decoded(KeyRequest, body).label
        text, key = source_keys.add(tenant, _name(name), label, by=token.signature)
        return views.json_response(NewKey(**asdict(key), key=text), HTTPStatus.CREATED)

    @router.delete(
        _KEYS + "/{key_id}",
        dependencies=[writer, Depends(writes.permit, scope="function")],
        **route(204, 409, 412),
    )
    def remove(tenant: str, name: str, key_id: str, token: Annotated[Caller, writer]) -> Response:
        source_keys.remove(tenant, _name(name), key_id, by=token.signature)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return router


def _identity(caller: Caller, tenants: list[Membership]) -> Identity:
    """Role and tenant are the operator's, or those of the only tenant; None with several or none."""
    only = tenants[0] if len(tenants) == 1 else None
    operator = caller.role is Role.OPERATOR
    return Identity(
        id=caller.id,
        label=caller.label,
        role=caller.role if operator else only.role if only else None,
        tenant=None if operator or only is None else only.tenant,
        expires_ms=caller.expires_ms,
        last_four=caller.last_four,
        issuer=None if caller.person is None else caller.person.issuer,
        tenants=tenants,
    )


def token_routes(
    store: TokenStore, authentication: Authentication, access: Access, clock: Clock, body_bytes: int
) -> APIRouter:
    """Routes of tokens: of a tenant, and of operators; and the one that says who a caller is."""
    router = APIRouter()

    @router.get("/v1/whoami", **route(200, answers=[Identity]))
    def whoami(caller: Annotated[Caller, Depends(access.guard(Action.KNOW))]) -> Response:
        return views.json_response(_identity(caller, authentication.memberships(caller)))

    for path, action in ((_TOKENS, Action.TOKENS), ("/v1/tokens", Action.OPERATE)):
        _add_tokens(router, store, clock, body_bytes, path=path, guard=access.guard(action))
    return router


def _add_tokens(  # noqa: PLR0913  # what the routes need
    router: APIRouter, store: TokenStore, clock: Clock, most: int, *, path: str, guard: Guard
) -> None:
    """Routes of the tokens of a path: those of its tenant, or the operators' if it has none."""
    allowed = Depends(guard)
    where = (_TENANT,) if "{tenant}" in path else ()

    def listing(request: Request, limit: Text = None, cursor: Text = None) -> Response:
        most, after = requests.limit(limit), requests.after(cursor) or ""
        left = [each for each in store.of(request.path_params.get("tenant"), clock()) if each.id > after]
        return views.listed(left[:most], left[most - 1].id if len(left) > most else None)

    def make(
        request: Request,
        token: Annotated[Caller, allowed],
        body: Annotated[bytes, Depends(body_reader(most))],
    ) -> Response:
        asked: TokenRequest = decoded(TokenRequest, body)
        tenant = request.path_params.get("tenant")
        if tenant is not None:
            intent.refuse_own(tenant)
        _refuse_role(token, asked.role, tenant)
        try:
            text, made = store.make(
                asked.role, tenant, label=asked.label, by=token.signature, now_ms=clock(), days=asked.days
            )
        except TokensFullError as error:
            raise ProblemError(HTTPStatus.CONFLICT, str(error)) from None
        return views.json_response(NewToken(**asdict(made), token=text), HTTPStatus.CREATED)

    def revoke(request: Request, token_id: str) -> Response:
        if store.revoke(request.path_params.get("tenant"), token_id, clock()) is None:
            raise not_found()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    router.add_api_route(
        path,
        listing,
        methods=["GET"],
        dependencies=[allowed],
        **route(200, answers=[Page[TokenView]], parameters=where),
    )
    made = route(201, 409, body=TokenRequest, answers=[NewToken], parameters=where)
    router.add_api_route(path, make, methods=["POST"], **made)
    router.add_api_route(
        path + "/{token_id}",
        revoke,
        methods=["DELETE"],
        dependencies=[allowed],
        **route(204, parameters=where),
    )


def audit_routes(log: AuditLog, access: Access) -> APIRouter:
    """The routes of the audit log: a tenant's, and what belongs to none, which is the operators'."""
    router = APIRouter()

    def page(tenant: str | None, limit: str | None, cursor: str | None) -> Response:
        rows, following = log.page(tenant, requests.after(cursor), requests.limit(limit))
        return views.listed(rows, following)

    @router.get(
        "/v1/tenants/{tenant}/audit",
        dependencies=[Depends(access.guard(Action.AUDIT))],
        **route(200, answers=[Page[AuditRow]]),
    )
    def audit(tenant: str, limit: Text = None, cursor: Text = None) -> Response:
        return page(tenant, limit, cursor)

    @router.get(
        "/v1/audit",
        dependencies=[Depends(access.guard(Action.OPERATE))],
        **route(200, answers=[Page[AuditRow]]),
    )
    def audit_of_operators(limit: Text = None, cursor: Text = None) -> Response:
        return page(None, limit, cursor)

    return router


def _refuse_role(token: Caller, wanted: Role, tenant: str | None) -> None:
    if token.role is None or not may_grant(token.role, wanted):
        raise ProblemError(HTTPStatus.FORBIDDEN, f"the role {token.role} may not make a token of {wanted}")
    if (tenant is None) != (wanted is Role.OPERATOR):
        raise wrong_request(
            "/role", "operators belong to no tenant, and the others to one", "see POST /v1/tokens"
        )


def _name(name: str) -> str:
    if not requests.is_name(name):
        raise not_found()
    return name
