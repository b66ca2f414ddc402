"""The route of rollouts: pause, go on, go back, open."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from msgspec import Struct

from pipelines.management.api import views
from pipelines.management.api.declared import route
from pipelines.management.api.documents import Documents
from pipelines.management.api.rights.access import Access
from pipelines.management.api.rights.permissions import Action
from pipelines.management.api.rights.write_limits import WriteLimits
from pipelines.management.api.rollouts import Rollouts
from pipelines.management.api.routes.documents import decoded, key_of
from shared.contracts.api_answers.documents import RolloutAnswer
from shared.contracts.rollouts import RolloutAction


class RolloutRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What a rollout is to do."""

    action: RolloutAction


def rollout_routes(
    documents: Documents, rollouts: Rollouts, access: Access, writes: WriteLimits, body_bytes: int
) -> APIRouter:
    """The route."""
    router = APIRouter()

    @router.post(
        "/v1/tenants/{tenant}/pipes/{name}/rollout",
        dependencies=[Depends(access.guard(Action.WRITE))],
        **route(200, 409, body=RolloutRequest, answers=[RolloutAnswer]),
    )
    def rollout(
        tenant: str,
        name: str,
        body: Annotated[bytes, Depends(writes.body(body_bytes), scope="function")],
        request: Request,
    ) -> Response:
        asked: RolloutRequest = decoded(RolloutRequest, body)
        found = documents.live(tenant, key_of("pipes", name))
        done = rollouts.request(found, asked.action)
        request.state.detail = asked.action.value
        return views.json_response(RolloutAnswer(rollout=done))

    return router
