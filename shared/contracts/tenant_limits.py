"""How much one tenant may configure: every node keeps all of it, and every write checks all of it. Pure."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from shared.contracts.documents import Contact, Document, Pipe, Source
from shared.contracts.patterns import comparisons
from shared.contracts.secrets import named_secrets

TENANT_DOCUMENTS: Final = 20_000
TENANT_BYTES: Final = 32 * 1024 * 1024
TENANT_COMPARISONS: Final = 50_000
"""Route needs 1.3 to 5.4 us for one, measured with 1,000 pipes and with one pipe of 9,984 conditions."""

TENANT_CONTACTS: Final = 20
"""Each of its alarms is a notice to each of them: 1 KiB of the memory of observe, which all tenants share."""

TENANT_SECRETS: Final = 1_000
"""Every transmit worker reads each of them from the store once a minute, twenty with a request."""

TENANT_COPIES: Final = 200
"""Each pipe that takes an event makes a record of it, and what all records cost, every tenant waits for."""

UNCOUNTED_KEYS: Final = 8
"""Write keys of each source that do not count as bytes, so that a tenant at its limit can rotate a key."""


Figures = Counter[Hashable]
"""Counts of a tenant's documents, by what they are of; a limit bounds each."""

Replaced = tuple[Sequence[Document], Sequence[Document]]
"""The documents that a part of a set replaces, and those that it writes."""

WATCHED: Final = 10
"""Comparisons that a watched field counts as: about 15 us of every event of its source."""

_ALL: Final = ""
_IN_PARTS: Final = "while the set is written in parts"
_TWO_STEPS: Final = "or apply the set in two steps, first what makes room"
_values: Final = msgspec.json.Encoder(order="sorted")


class TenantFullError(Exception):
    """A write after which a tenant would have too much; the text says of what, and the fix."""


class _Measure(Struct, frozen=True, kw_only=True):
    """How the figures of one limit are found."""

    name: str
    """Name of the limit."""

    would: str
    """The sentence about a tenant above it."""

    counted: Callable[[Sequence[Document]], Figures]
    """Adds up: of two lists of documents together it is the sum."""

    distinct: bool = False
    """The limit bounds how many different things there are."""

    def excess(self, counts: Figures, limit: int) -> int:
        """How much of all figures together is above the limit of each."""
        return sum(count - limit for count in self._figures(counts).values() if count > limit)

    def most_added(self, had: Figures, has: Figures, limit: int) -> int:
        """The largest figure above the limit that has grown; there must be one."""
        former = self._figures(had)
        return max(count for group, count in self._figures(has).items() if count > max(limit, former[group]))

    def _figures(self, counts: Figures) -> Figures:
        return Counter({_ALL: sum(count > 0 for count in counts.values())}) if self.distinct else counts


class TenantLimits(Struct, frozen=True, kw_only=True):
    """Limits on a tenant's current documents; deleted ones and former versions do not count."""

    documents: int = TENANT_DOCUMENTS
    bytes: int = TENANT_BYTES
    """Bytes of JSON, as the table holds it, without UNCOUNTED_KEYS of each source."""

    comparisons: int = TENANT_COMPARISONS
    """Comparisons of all pipes' patterns and watches for one event; every tenant's events wait for them."""

    contacts: int = TENANT_CONTACTS
    secrets: int = TENANT_SECRETS
    """Different names in all destinations' options, and the key of masks."""

    copies: int = TENANT_COPIES
    """Copies of one event: pipes of one source with the same `match`, whatever the order of its fields."""

    def check(self, before: Iterable[Document], after: Iterable[Document]) -> None:
        """Refuse a write that goes above a limit; one of a tenant above it that does not add is taken.

        Raises:
            TenantFullError: if it adds too much.
        """
        had, has = list(before), list(after)
        for measure in _MEASURES:
            found = measure.counted(has)
            if measure.excess(found, self._of(measure)):
                self._refuse_more(measure, measure.counted(had), found)

    def check_parts(self, before: Iterable[Document], parts: Iterable[Replaced]) -> None:
        """Refuse a set that is written in parts, one after another, if one of them goes above a limit.

        Raises:
            TenantFullError: as `check` does for the first such part.
        """
        had, known = list(before), list(parts)
        for measure in _MEASURES:
            counts = measure.counted(had)
            for gone, come in known:
                after = Counter(counts)
                after.update(measure.counted(come))
                after.subtract(measure.counted(gone))
                try:
                    self._refuse_more(measure, counts, after)
                except TenantFullError as error:
                    raise TenantFullError(f"{_IN_PARTS} {error}, {_TWO_STEPS}") from None
                counts = after

    def _refuse_more(self, measure: _Measure, had: Figures, has: Figures) -> None:
        limit = self._of(measure)
        if measure.excess(has, limit) > measure.excess(had, limit):
            would = measure.would.format(measure.most_added(had, has, limit))
            raise TenantFullError(_said(would, f"{limit:,}", measure.name.upper()))

    def _of(self, measure: _Measure) -> int:
        limit: int = getattr(self, measure.name)
        return limit


def _documents(documents: Sequence[Document]) -> Figures:
    return Counter({_ALL: len(documents)})


def _size(documents: Sequence[Document]) -> Figures:
    encode = msgspec.json.Encoder().encode
    return Counter({_ALL: sum(len(encode(_counted(each))) for each in documents)})


def _comparisons(documents: Sequence[Document]) -> Figures:
    pipes = (each for each in documents if isinstance(each, Pipe))
    return Counter({_ALL: sum(comparisons(each.match) + WATCHED * len(each.watch) for each in pipes)})


def _contacts(documents: Sequence[Document]) -> Figures:
    return Counter({_ALL: sum(isinstance(each, Contact) for each in documents)})


def _secrets(documents: Sequence[Document]) -> Figures:
    return Counter(name for each in documents for name in named_secrets([each]))


def _copies(documents: Sequence[Document]) -> Figures:
    pipes = (each for each in documents if isinstance(each, Pipe))
    return Counter((each.source, _values.encode(each.match)) for each in pipes)


def _counted(document: Document) -> Document:
    """The part of a document that counts: all but the first UNCOUNTED_KEYS write keys of a source."""
    if not isinstance(document, Source):
        return document
    return replace(document, write_keys=document.write_keys[UNCOUNTED_KEYS:])


def _said(would: str, limit: str, setting: str) -> str:
    fix = f"delete what is not used, or have the operator raise HIFI_TENANT_{setting}"
    return f"the tenant would have {would}, and may have {limit}; {fix}"


_MEASURES: Final = (
    _Measure(name="documents", would="{:,} documents", counted=_documents),
    _Measure(name="bytes", would="{:,} bytes of documents", counted=_size),
    _Measure(
        name="comparisons",
        would="{:,} comparisons in its pipes' patterns and watches",
        counted=_comparisons,
    ),
    _Measure(name="contacts", would="{:,} contacts", counted=_contacts),
    _Measure(name="secrets", would="{:,} names of secrets", counted=_secrets, distinct=True),
    _Measure(name="copies", would="{:,} pipes of one source with the same match", counted=_copies),
)
