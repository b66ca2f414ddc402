"""The route of both sides and their releases, for operators."""

from typing import Final

from fastapi import APIRouter, Depends, Response

from pipelines.management.api import views
from pipelines.management.api.declared import route
from pipelines.management.api.rights.access import Access
from pipelines.management.api.rights.permissions import Action
from shared.contracts.sides import Sides
from shared.dynamodb.sides_reader import SidesReader

_ENDED: Final = 10
"""So many of the last releases are answered."""


def side_routes(reader: SidesReader, access: Access) -> APIRouter:
    """The route. Its handler runs on threads: it asks the table."""
    router = APIRouter()

    @router.get(
        "/v1/sides", dependencies=[Depends(access.guard(Action.OPERATE))], **route(200, answers=[Sides])
    )
    def sides() -> Response:
        return views.json_response(reader.look(_ENDED))

    return router
