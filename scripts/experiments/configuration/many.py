"""Writes the documents of very many tenants, of which the load uses none."""

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import msgspec

from scripts.documents.api_client import ApiClient
from scripts.documents.bundle import Wanted, put_body
from scripts.documents.publication import Status, unpublished
from scripts.experiments.harness.subprocesses import ChainError
from shared.contracts.document_items import DocumentKey
from shared.contracts.documents import Destination, Document, Pipe, Source

_AT_ONCE: Final = 4
_POLL_SECONDS: Final = 0.5
_MOST_SECONDS: Final = 300.0


def tenant_names(count: int) -> list[str]:
    """The tenants, in the order in which they are written."""
    return [f"tenant-{number:05}" for number in range(count)]


def documents_of(tenant: str, pipes: int, url: str) -> list[Document]:
    """A source, a destination, and pipes with patterns of three conditions each."""
    return [
        Source(name=tenant, tenant=tenant, write_keys=[f"{tenant}-key"]),
        Destination(name=tenant, tenant=tenant, options={"url": url}),
        *(
            Pipe(
                name=f"{tenant}-{number}",
                tenant=tenant,
                source=tenant,
                destination=tenant,
                match={
                    "type": [f"order.{number}"],
                    "data": {"amount": [{"numeric": [">", number]}], "country": ["DE", "FR"]},
                },
            )
            for number in range(pipes)
        ),
    ]


def write(api: ApiClient, tenants: Iterable[str], pipes: int, url: str) -> float:
    """Write the tenants' documents; returns the seconds that it took."""
    began = time.monotonic()

    def apply(tenant: str) -> None:
        wanted = [Wanted(document=each) for each in documents_of(tenant, pipes, url)]
        api.send("POST", f"/v1/tenants/{tenant}/apply", put_body(wanted, {}))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(apply, tenants))
    return time.monotonic() - began


def await_published(api: ApiClient, tenants: Iterable[str]) -> float:
    """Wait until every document is published; returns the seconds that it took.

    Raises:
        ChainError: if it takes longer than five minutes.
    """
    began = time.monotonic()
    for tenant in tenants:
        while missing := _missing(api, tenant):
            if time.monotonic() - began > _MOST_SECONDS:
                named = ", ".join(map(str, list(missing)[:3]))
                raise ChainError(f"not published after {_MOST_SECONDS:.0f} s: {named} of {tenant}")
            time.sleep(_POLL_SECONDS)
    return time.monotonic() - began


def _missing(api: ApiClient, tenant: str) -> Mapping[DocumentKey, Any]:
    found = list(api.items(f"/v1/tenants/{tenant}/documents"))
    statuses = msgspec.convert(found, list[Status])
    written = {each.key: int(item["version"]) for each, item in zip(statuses, found, strict=True)}
    return unpublished(written, statuses)
