"""Documents and their versions."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from shared.contracts.document_status import DocumentStatus
from shared.contracts.rollouts import RolloutView

Json = dict[str, Any]
Document = Annotated[Any, Meta(extra_json_schema={"type": ["object", "null"]})]
"""JSON for clients, and the API's own type for the API."""


class Version(Struct, frozen=True, kw_only=True):
    """One version of a document."""

    version: int
    """1 for the first; one more at each change, deletions included."""

    by: str
    at_ms: int
    document: Document
    """None: this version is the deletion."""


class WrittenVersion(Version, frozen=True, kw_only=True, omit_defaults=True):
    """The version that a write made, or that was there already."""

    write_key: str | None = None
    """Of a new source that came without one; shown this once."""


class NewestVersion(Version, frozen=True, kw_only=True, omit_defaults=True):
    """The newest version, and how far each side is with it."""

    status: Mapping[str, DocumentStatus]
    """By side."""

    rollout: RolloutView | None = None
    """Of a pipe that has one, if it is read by itself."""


class NamedVersion(NewestVersion, frozen=True, kw_only=True, omit_defaults=True):
    """The same in a list of several kinds."""

    kind: str
    name: str


class VersionSummary(Struct, frozen=True, kw_only=True):
    """One version without its document, which may be large."""

    kind: str
    name: str
    version: int
    by: str
    at_ms: int
    deleted: bool
    """This version is the deletion."""


class NewestSummary(VersionSummary, frozen=True, kw_only=True):
    """The same of the newest version."""

    status: Mapping[str, DocumentStatus]
    """By side."""


class DocumentChange(Struct, frozen=True, kw_only=True, rename={"former": "from"}, omit_defaults=True):
    """The effect of a write, or of a dry run, on one document."""

    kind: str
    name: str
    action: str
    """`create`, `change`, `delete` or `none`."""

    former: int | None
    """The version before; None if the document was not there."""

    to: int | None
    """The version after."""

    write_key: str | None = None
    """Of a new source that came without one; shown this once."""


class Changes(Struct, frozen=True, kw_only=True):
    """The effect of a write, or of a dry run."""

    dry_run: bool
    changes: Sequence[DocumentChange]


class RolloutAnswer(Struct, frozen=True, kw_only=True):
    """How far a pipe's rollout is after a request."""

    rollout: RolloutView


class TenantEntry(Struct, frozen=True, kw_only=True):
    """A tenant that has documents or members."""

    tenant: str
    version: int
    """How many versions of documents it has written."""


class Connector(Struct, frozen=True, kw_only=True):
    """A connector."""

    name: str
    description: str
    options: Json
    """JSON Schema of its options."""
