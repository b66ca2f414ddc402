"""Waits until the provisioner has published what was written to the table."""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from scripts.documents.store import DocumentsError
from shared.contracts.document_items import StoredDocument
from shared.contracts.documents import LIVE_SECONDS, OWN_TENANTS, Entry, topic_key
from shared.kafka.config_topic import config_table
from shared.kafka.errors import kafka_errors_explained

Entries = Mapping[bytes, Entry]
"""By key on the `config` topic."""

_CLIENT: Final = "hifi-cli"
_LOAD_SECONDS: Final = 15.0
PUBLISH_SECONDS: Final = LIVE_SECONDS + 20.0
"""A new source is held back for LIVE_SECONDS; a calm side publishes the rest within two."""

_POLL_SECONDS: Final = 0.05


class Publication:
    """What a side has published, kept up to date."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._topic = config_table(bootstrap, _CLIENT)

    def close(self) -> None:
        """Stop reading."""
        self._topic.stop()

    def entries(self) -> Entries:
        """All documents published now, hifi's own included.

        Raises:
            KafkaUnavailableError: if the topic cannot be read.
        """
        with kafka_errors_explained(self._bootstrap):
            if not self._topic.wait(_LOAD_SECONDS):
                raise TimeoutError(f"the topic of documents could not be read within {_LOAD_SECONDS:.0f} s")
        return self._topic.view.entries

    def wait(self, written: Sequence[StoredDocument], seconds: float = PUBLISH_SECONDS) -> None:
        """Return when these versions, or later ones, are published.

        Raises:
            DocumentsError: if they are not within `seconds`; they stay in the table.
        """
        deadline = time.monotonic() + seconds
        while missing := [each for each in written if not published(each, self.entries())]:
            for each in missing:
                if (owner := taken_by(each, self.entries())) in OWN_TENANTS:
                    problem = f"written, but never published: {each.key} is also a name of {owner!r}"
                    raise DocumentsError(problem, "delete it, and choose another name")
            if time.monotonic() > deadline:
                raise DocumentsError(_late(missing, seconds), "`hifi doctor` shows whether it runs")
            time.sleep(_POLL_SECONDS)


@contextmanager
def publication(bootstrap: str) -> Iterator[Publication]:
    """What a side publishes while the block runs."""
    logging.getLogger("shared.kafka").addHandler(logging.NullHandler())
    found = Publication(bootstrap)
    try:
        yield found
    finally:
        found.close()


def published(each: StoredDocument, entries: Entries) -> bool:
    """Whether a version is what nodes read, or a later one is."""
    entry = entries.get(_key(each))
    if entry is None or taken_by(each, entries):
        return each.document is None
    if each.document is None:
        return entry.version > each.version
    return entry.version > each.version or entry == Entry(version=each.version, document=each.document)


def taken_by(each: StoredDocument, entries: Entries) -> str | None:
    """The other tenant whose published document has the same kind and name."""
    entry = entries.get(_key(each))
    return None if entry is None or entry.document.tenant == each.tenant else entry.document.tenant


def _late(missing: Sequence[StoredDocument], seconds: float) -> str:
    named = ", ".join(f"{each.key} version {each.version}" for each in missing[:3])
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    return (
        f"written to the table, but not published within {seconds:.0f} s: {named}{more}; "
        "the provisioner publishes it as soon as it can"
    )


def _key(each: StoredDocument) -> bytes:
    return topic_key(each.key.kind, each.key.name)
