"""A tenant's documents as a dictionary of versions, and the states that a side may show meanwhile."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from shared.contracts.document_items import DocumentKey
from shared.contracts.documents import Document, Entry, Source, topic_key

Published = Mapping[bytes, Entry]
"""The entries on a topic, by key."""

Wanted = tuple[DocumentKey, Document | None]
"""A document's next state; None deletes it."""


class CatalogueModel:
    """Every version of a tenant's catalogue: one more with each write that changes something."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
        self.histories: dict[DocumentKey, list[Document | None]] = {}
        self.catalogues: list[Published] = [{}]

    @property
    def newest(self) -> Published:
        return self.catalogues[-1]

    def write(self, wanted: Iterable[Wanted]) -> None:
        """Write all of it at once."""
        changed = False
        for key, document in wanted:
            versions = self.histories.setdefault(key, [])
            if (versions[-1] if versions else None) != document:
                versions.append(document)
                changed = True
        if changed:
            self.catalogues.append(self._now())

    def _now(self) -> Published:
        return {
            topic_key(self.tenant, key.kind, key.name): Entry(version=len(versions), document=versions[-1])
            for key, versions in self.histories.items()
            if versions and versions[-1] is not None
        }


@dataclass
class Follower:
    """A side that follows the model: its last state, and that state's place in the model."""

    at: int = 0
    shown: Published = field(default_factory=dict)

    def shows(self, model: CatalogueModel, published: Published) -> None:
        """Fail unless the side shows its last version again, or a later one; new sources may lack."""
        for at in range(self.at, len(model.catalogues)):
            if self._may_show(model.catalogues[at], published):
                self.at, self.shown = at, dict(published)
                return
        raise AssertionError(f"shows {brief(published)} at {self.at} of {[*map(brief, model.catalogues)]}")

    def _may_show(self, catalogue: Published, published: Published) -> bool:
        """Whether it shows a version of the catalogue, which may lack new sources."""
        lacking = catalogue.keys() - published.keys()
        if any(published[key] != catalogue.get(key) for key in published):
            return False
        sources = {key for key, entry in catalogue.items() if isinstance(entry.document, Source)}
        return lacking <= sources - self.shown.keys()


def brief(published: Published) -> Sequence[str]:
    """Names and versions."""
    return sorted(f"{key.decode()}@{entry.version}" for key, entry in published.items())
