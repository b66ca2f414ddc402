"""Customers' documents, read and written through the management API.

Every program of scripts that changes documents goes through here. The provisioner alone publishes them.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import msgspec
from msgspec import Struct

from scripts.documents.api_client import ApiClient, DocumentsError, RefusedError
from scripts.documents.bundle import Action, Step, Wanted, by_tenant, delete_bodies, parts, put_body
from scripts.documents.publication import Status, unpublished
from shared.contracts.document_items import DocumentKey, StoredDocument
from shared.contracts.document_status import DocumentStatus
from shared.contracts.documents import LIVE_SECONDS, Document
from shared.contracts.rollouts import RolloutAction
from shared.transformation import lossless_json

PUBLISH_SECONDS: Final = LIVE_SECONDS + 20.0
"""A new source is held back for LIVE_SECONDS at most; the rest is published within two on an idle machine."""

_POLL_SECONDS: Final = 0.2
_MOST_SEARCHED: Final = 20
_MOST_NAMED: Final = 3
"""Documents in the text of an error."""

_DRY: Final = {"dry_run": "true"}


class Listed(Struct, frozen=True, kw_only=True):
    """The newest version of a document, and how far each side is with it."""

    stored: StoredDocument
    status: Mapping[str, DocumentStatus]


class SideDocuments:
    """Methods raise DocumentsError if the API does not answer, and RefusedError if it refuses."""

    def __init__(
        self,
        api: ApiClient,
        *,
        publish_seconds: float = PUBLISH_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Write through `api`, and wait `publish_seconds` at most until every side has published it."""
        self._api, self._publish_seconds = api, publish_seconds
        self._monotonic, self._pause = monotonic, pause

    def opened(self) -> bool:
        """Whether documents can be written."""
        return self._api.ready()

    def tenants(self) -> list[str]:
        """The tenants with documents that the token may read: for an operator all, unless one was chosen."""
        if self._api.server.tenant is not None:
            return [self._api.server.tenant]
        who = self._api.get("/v1/whoami")
        there = self._api.items("/v1/tenants") if who["role"] == "operator" else who["tenants"]
        return [each["tenant"] for each in there]

    def listed(self, tenant: str) -> list[Listed]:
        """Every document of a tenant, deletions included."""
        return [
            Listed(stored=_stored(tenant, each), status=msgspec.convert(each, Status).status)
            for each in self._api.items(f"/v1/tenants/{tenant}/documents")
        ]

    def current(self, tenant: str) -> list[StoredDocument]:
        """The newest version of every document of a tenant, deletions included."""
        return [each.stored for each in self.listed(tenant)]

    def find(self, key: DocumentKey, tenant: str | None = None) -> list[StoredDocument]:
        """The newest version, perhaps the deletion, of each tenant's document of a kind and name.

        Raises:
            DocumentsError: also if the token sees too many tenants to look through.
        """
        tenants = [tenant] if tenant is not None else self.tenants()
        if len(tenants) > _MOST_SEARCHED:
            raise DocumentsError(f"there are {len(tenants)} tenants; which one's {key}?", "add --tenant")
        return [found for each in tenants for found in self.history(each, key, newest=1)]

    def history(self, tenant: str, key: DocumentKey, newest: int | None = None) -> list[StoredDocument]:
        """Versions of a document, newest first: all, or some; none if there never was one."""
        path = f"{_path(tenant, key)}/history"
        try:
            if newest is not None:
                found = self._api.send("GET", path, query={"limit": str(newest)})["items"]
            else:
                found = list(self._api.items(path))
        except RefusedError as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            return []
        return [_stored(tenant, {"kind": key.kind, "name": key.name, **each}) for each in found]

    def check(self, wanted: Iterable[Wanted]) -> list[Step]:
        """The steps that writing documents would take, in the documents' order; nothing is written.

        Raises:
            RefusedError: if one of them would be refused.
        """
        asked = list(wanted)
        steps = {
            (tenant, step.key): step
            for tenant, group in by_tenant(asked)
            for step in self._apply(tenant, {"documents": [each.body() for each in group]}, _DRY)
        }
        return [steps[each.document.tenant, each.key] for each in asked]

    def write(
        self,
        wanted: Sequence[Wanted],
        seen: Sequence[Step],
        say: Callable[[str], None] = lambda _: None,
        show_key: Callable[[Step], None] = lambda _: None,
    ) -> list[Step]:
        """Write documents that were checked, and return when all of them are published.

        Args:
            wanted: the documents.
            seen: the steps of `check`.
            say: gets a line of progress.
            show_key: gets each step with a write key as soon as it is written, before anything else can fail.

        Raises:
            DocumentsError: also if one of them has changed since, or it takes too long.
        """
        if any(step.kind == "source" and step.action is Action.CREATE for step in seen):
            say(f"new sources are opened once their pipes are in force: {LIVE_SECONDS} s at most")
        pairs = list(zip(wanted, seen, strict=True))
        done = {(each.document.tenant, step.key): step for each, step in pairs if step.action is Action.NONE}
        written: list[Step] = []
        for tenant, group in by_tenant(wanted):
            known = {step.key: step for each, step in pairs if each.document.tenant == tenant}
            changed = [each for each in group if known[each.key].action is not Action.NONE]
            for part in parts(changed):
                steps = self._apply(tenant, put_body(part, known), before=written)
                for step in steps:
                    if step.write_key is not None:
                        show_key(step)
                written += steps
                done |= {(tenant, step.key): step for step in steps}
        self._wait(done)
        return [done[each.document.tenant, each.key] for each in wanted]

    def put(self, documents: Iterable[Document]) -> None:
        """Write documents whatever there is, and return when they are published."""
        for tenant, group in by_tenant(Wanted(document=each) for each in documents):
            steps = [step for part in parts(group) for step in self._apply(tenant, put_body(part, {}))]
            self._wait({(tenant, step.key): step for step in steps})

    def delete(self, tenant: str, found: Iterable[StoredDocument]) -> None:
        """Delete documents at the versions given, and return when they are gone from every side."""
        there = [(each.document, each.version) for each in found if each.document is not None]
        self._delete(tenant, there)

    def remove(self, documents: Iterable[Document]) -> None:
        """Delete documents by tenant, kind and name, whatever version is there."""
        for tenant, group in by_tenant(Wanted(document=each) for each in documents):
            self._delete(tenant, [(each.document, None) for each in group])

    def revert(self, former: StoredDocument) -> Step:
        """Make an earlier version the newest, and return when it is published."""
        path, any_version = f"{_path(former.tenant, former.key)}/revert", {"If-Match": "*"}
        body = {"version": former.version}
        (planned,) = self._steps(self._api.send("POST", path, body, headers=any_version, query=_DRY))
        self._api.send("POST", path, body, headers=any_version)
        self._wait({(former.tenant, former.key): planned})
        return planned

    def tried(self, tenant: str, event: Any, source: str | None, pipe: str | None) -> list[Any]:
        """The results of trying pipes with an event, as the API gives them; numbers keep their texts."""
        asked = {"event": event} | ({"source": source} if source else {}) | ({"pipe": pipe} if pipe else {})
        return list(self._api.items(f"/v1/tenants/{tenant}/try", asked, lossless_json.decode))

    def rollout(self, tenant: str, pipe: str) -> Any:
        """How far a pipe with a rollout is opened."""
        return self._api.get(_path(tenant, DocumentKey("pipe", pipe)))["rollout"]

    def request_rollout(self, tenant: str, pipe: str, action: RolloutAction) -> Any:
        """Lead a rollout on; gives how far it is then.

        Raises:
            RefusedError: also if that does not apply now.
        """
        path = f"{_path(tenant, DocumentKey('pipe', pipe))}/rollout"
        return self._api.send("POST", path, {"action": action})["rollout"]

    def write_keys(self, tenant: str, source: str) -> list[Any]:
        """The write keys of a source, without their texts."""
        return list(self._api.items(_keys(tenant, source)))

    def add_write_key(self, tenant: str, source: str, label: str) -> Any:
        """A new write key, with its text in `key`."""
        return self._api.send("POST", _keys(tenant, source), {"label": label})

    def remove_write_key(self, tenant: str, source: str, key: str) -> None:
        """Remove a write key."""
        self._api.send("DELETE", f"{_keys(tenant, source)}/{key}")

    def wait_published(self, tenant: str, key: DocumentKey) -> None:
        """Return when the newest version of a document is published.

        Raises:
            DocumentsError: also if it takes too long.
        """
        deadline = self._monotonic() + self._publish_seconds
        written = {each.key: each.version for each in self.history(tenant, key, newest=1)}
        self._wait_until(deadline, tenant, written)

    def _delete(self, tenant: str, found: Iterable[tuple[Document, int | None]]) -> None:
        steps: list[Step] = []
        for body in delete_bodies(found):
            steps += self._apply(tenant, body, before=steps)
        self._wait({(tenant, step.key): step for step in steps if step.action is not Action.NONE})

    def _apply(
        self, tenant: str, body: Any, query: Mapping[str, str] | None = None, *, before: Sequence[Step] = ()
    ) -> list[Step]:
        """Write documents of a tenant at once; a failure names the steps of the same command `before`."""
        try:
            return self._steps(self._api.send("POST", f"/v1/tenants/{tenant}/apply", body, query=query))
        except DocumentsError as error:
            said, fix = str(error), ""
            if isinstance(error, RefusedError) and error.code == HTTPStatus.PRECONDITION_FAILED:
                said, fix = f"another change came first: {error}", "read it, then try again"
            elif not before:
                raise
            names = _named([str(step.key) for step in before])
            written = f"written before that: {names}" if before else "nothing was written"
            raise DocumentsError(f"{said}; {written}", fix) from error

    @staticmethod
    def _steps(answer: Any) -> list[Step]:
        return msgspec.convert(answer["changes"], list[Step])

    def _wait(self, done: Mapping[tuple[str, DocumentKey], Step]) -> None:
        deadline = self._monotonic() + self._publish_seconds
        for tenant in {tenant for tenant, _ in done}:
            written = {key: step.after or 0 for (owner, key), step in done.items() if owner == tenant}
            self._wait_until(deadline, tenant, written)

    def _wait_until(self, deadline: float, tenant: str, written: Mapping[DocumentKey, int]) -> None:
        while missing := unpublished(written, self._statuses(tenant)):
            if self._monotonic() > deadline:
                raise DocumentsError(
                    _late(missing, self._publish_seconds), "`hifi doctor` shows whether it runs"
                )
            self._pause(_POLL_SECONDS)

    def _statuses(self, tenant: str) -> list[Status]:
        return msgspec.convert(list(self._api.items(f"/v1/tenants/{tenant}/documents")), list[Status])


def _path(tenant: str, key: DocumentKey) -> str:
    return f"/v1/tenants/{tenant}/{key.kind}s/{key.name}"


def _keys(tenant: str, source: str) -> str:
    return f"{_path(tenant, DocumentKey('source', source))}/keys"


def _stored(tenant: str, item: Any) -> StoredDocument:
    return StoredDocument(
        tenant=tenant,
        key=DocumentKey(item["kind"], item["name"]),
        version=item["version"],
        document=None if item["document"] is None else msgspec.convert(item["document"], Document),
        by=item["by"],
        at_ms=item["at_ms"],
    )


def _late(missing: Mapping[DocumentKey, Mapping[str, DocumentStatus]], seconds: float) -> str:
    named = _named([f"{key}{_reasons(sides)}" for key, sides in missing.items()])
    return (
        f"written, but not published within {seconds:.0f} s: {named}; "
        "the provisioner publishes it as soon as it can"
    )


def _named(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _reasons(sides: Mapping[str, DocumentStatus]) -> str:
    reasons = [f"{side}: {found.reason}" for side, found in sides.items() if found.reason]
    return f" ({', '.join(reasons)})" if reasons else ""
