"""The route of connectors and their options."""

from fastapi import APIRouter, Depends, Response

from pipelines.management.api import views
from pipelines.management.api.declared import route
from pipelines.management.api.rights.access import Access
from pipelines.management.api.rights.permissions import Action
from shared.connectors.registry import SPECS
from shared.connectors.schema import options_schema
from shared.contracts.api_answers.documents import Connector
from shared.contracts.api_answers.pages import Page


def connector_routes(access: Access) -> APIRouter:
    """The route."""
    router = APIRouter()
    found = [
        Connector(name=name, description=spec.description, options=dict(options_schema(spec)))
        for name, spec in sorted(SPECS.items())
    ]

    @router.get(
        "/v1/connectors",
        dependencies=[Depends(access.guard(Action.READ))],
        **route(200, answers=[Page[Connector]]),
    )
    def connectors() -> Response:
        return views.json_response(Page(items=found))

    return router
