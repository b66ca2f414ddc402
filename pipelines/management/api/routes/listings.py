"""Routes over more than one kind of document: all of a tenant, and the tenants."""

from bisect import bisect_right

from fastapi import APIRouter, Depends, Response

from pipelines.management.api import requests, views
from pipelines.management.api.declared import Text, route
from pipelines.management.api.documents import Documents
from pipelines.management.api.rights.access import Access
from pipelines.management.api.rights.member_store import MemberStore
from pipelines.management.api.rights.permissions import Action
from pipelines.management.api.rights.read_limits import ReadLimits
from shared.contracts.api_answers.documents import NamedVersion, TenantEntry
from shared.contracts.api_answers.pages import Page


def listing_routes(
    documents: Documents, members: MemberStore, access: Access, reads: ReadLimits
) -> APIRouter:
    """The routes."""
    router, table = APIRouter(), documents.table

    @router.get(
        "/v1/tenants",
        dependencies=[Depends(access.guard(Action.OPERATE))],
        **route(200, answers=[Page[TenantEntry]]),
    )
    def tenants(limit: Text = None, cursor: Text = None) -> Response:
        most, after = requests.limit(limit), requests.after(cursor)
        catalogues = dict.fromkeys(members.tenants(), 0) | dict(table.catalogues())
        names = sorted(catalogues)
        names = names[bisect_right(names, after or "") :]
        items = [TenantEntry(tenant=name, version=catalogues[name]) for name in names[:most]]
        return views.listed(items, names[most - 1] if len(names) > most else None)

    @router.get(
        "/v1/tenants/{tenant}/documents",
        dependencies=[Depends(access.guard(Action.READ)), Depends(reads.permit, scope="function")],
        **route(200, answers=[Page[NamedVersion]]),
    )
    def everything(tenant: str, limit: Text = None, cursor: Text = None) -> Response:
        most, after = requests.limit(limit), requests.after_document(cursor)
        found, following = table.page_of_all(tenant, after, most)
        statuses = documents.statuses(tenant, found)
        items = [views.named(each, status) for each, status in zip(found, statuses, strict=True)]
        return views.listed(items, following)

    return router
