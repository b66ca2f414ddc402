"""Documents, in which customers say what they want: sources, destinations, pipes, contacts. Users write them
in YAML; the `config` topic carries them as JSON under the key `tenant/kind/name`: names of two tenants are
independent.

What the topic holds may come from a newer version and is read as far as it is understood, because a document
left out would take its events with it. `document_parsing` reads what users write.
"""

import hashlib
from collections.abc import Container, Iterable, Mapping
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, Final, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from shared.contracts.mail_address import MAIL_ADDRESS
from shared.contracts.masks import MAX_MASKS, Mask
from shared.contracts.rollout_plan import FULL_SHARE, Rollout
from shared.contracts.watches import MAX_WATCHES, Watch

DocumentKind = Literal["source", "destination", "pipe", "contact"]
KINDS: Final[tuple[DocumentKind, ...]] = get_args(DocumentKind)

LIVE_SECONDS: Final = 10
"""A published document is in force in every node after this long."""

SEALED_PREFIX: Final = "sha256:"
"""The prefix of every write key on the topic; a usable key must not have it."""

_KEY_ID: Final = 16
"""Hexadecimal digits of a write key's digest that name it."""

MOST_WRITE_KEYS: Final = 90
"""Most write keys of a source. All fit into one write (MOST_ITEMS): a deleted source comes back with them."""

CANARY: Final = "canary"
"""Tenant of the canary, and what the names of its documents begin with."""

WARM_UP: Final = "hifi"
"""Tenant of the load that warms a local side up, before it calls itself ready."""

OWN_TENANTS: Final = frozenset({CANARY, WARM_UP})
"""Tenants that are hifi itself: no customer's."""

SAMPLE_STEP: Final = 0.01
"""The smallest difference of a sample, percent."""

Name = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$(?!\n)")]
"""`$` of Python also matches before a last line feed."""

Percent = Annotated[float, Meta(ge=0, le=100)]
SecretRef = Annotated[str, Meta(pattern=r"^secret://[a-z0-9][a-z0-9._/-]{0,126}$(?!\n)")]
"""Stands for a secret in a document: the topic never holds one."""

Email = Annotated[str, Meta(max_length=254, pattern=MAIL_ADDRESS)]

TenantName = tuple[str, str]
"""A tenant, and the name of one of its documents: what identifies a document of a kind."""

DEFAULT_CONNECTOR: Final = "webhook"

Rate = Annotated[float, Meta(ge=0.001)]
"""Events per second. A much smaller one, shared by a side's processes, would round to none."""


_strictly = msgspec.json.Encoder(order="sorted")


def same(one: object, other: object) -> bool:
    """Whether two documents, or what holds them, say the same: 1 and true do not, although 1 == True."""
    return one is other or (one == other and _strictly.encode(one) == _strictly.encode(other))


class Source(Struct, tag="source", tag_field="kind", kw_only=True, frozen=True):
    """Where a tenant's events come from. A write key names it."""

    name: Name
    tenant: Name
    write_keys: Annotated[list[Annotated[str, Meta(min_length=8)]], Meta(min_length=1)]
    """Bearer keys. `sealed` replaces each by its digest: the topic never holds a key."""

    rate_limit: Rate | None = None
    """Events per second for each collect process, with a burst of two seconds' worth; None: no limit."""


class Batch(Struct, kw_only=True, frozen=True):
    """How many events one request to a destination may carry."""

    max_events: Annotated[int, Meta(ge=1, le=10_000)] = 500
    max_bytes: Annotated[int, Meta(ge=1_024, le=8 * 1024 * 1024)] = 1024 * 1024


class Limits(Struct, kw_only=True, frozen=True):
    """How much a destination is asked to take at once."""

    requests: Annotated[int, Meta(ge=1, le=64)] = 8
    """Requests in flight to it at once, divided among transmit's workers; each sends at least one."""

    rate: Rate | None = None
    """Events a second, after a burst of one second's worth; None is without limit."""


class Destination(Struct, tag="destination", tag_field="kind", kw_only=True, frozen=True):
    """Where events go."""

    name: Name
    tenant: Name
    connector: Name = DEFAULT_CONNECTOR
    """The name of the connector, one of transmit's, that speaks to it."""

    options: dict[str, Any] = {}
    """The connector's own; transmit knows which there are, and decodes them."""

    batch: Batch = Batch()
    timeout_seconds: Annotated[float, Meta(gt=0, le=10)] = 5.0
    """Deadline of one try, over connect, send and read."""

    limits: Limits = Limits()


class Ramp(Struct, kw_only=True, frozen=True):
    """A pipe opened gradually: from 0 at `start` to `sample` when `minutes` have passed, in a line."""

    start: datetime
    minutes: Annotated[float, Meta(gt=0)]


class Pipe(Struct, tag="pipe", tag_field="kind", kw_only=True, frozen=True):
    """Which events of a source go to which destination."""

    name: Name
    tenant: Name
    source: Name
    destination: Name
    match: dict[str, Any] = {}
    """An event pattern (the language of EventBridge rules) over attributes and `data`; empty matches all."""

    sample: Percent = FULL_SHARE
    """Percentage of the matching events, chosen by a stable hash of the event id: raising it only adds."""

    ramp: Ramp | None = None
    rollout: Rollout | None = None
    """Opened step by step. On the topic it is left out, and `sample` is the present step's share."""

    masks: Annotated[list[Mask], Meta(max_length=MAX_MASKS)] = []
    """Places with values that do not leave as they are. Masks come before the transform."""

    transform: str | None = None
    """JMESPath over the event as a CloudEvents JSON object (attributes and `data`); what it gives is the new
    data."""

    watch: Annotated[list[Watch], Meta(max_length=MAX_WATCHES)] = []
    """Fields with values that the meter compares with those of the days before."""


class Contact(Struct, tag="contact", tag_field="kind", kw_only=True, frozen=True):
    """Where a tenant is notified of failures that only it can fix, such as a wrong key: a webhook, an e-mail
    address or both."""

    name: Name
    tenant: Name
    webhook: Annotated[str, Meta(max_length=2_048)] | None = None
    """An https URL; on a local side also an http one on its own machine."""

    email: Email | None = None

    secret: SecretRef | None = None
    """The key that signs the webhook's requests, as Standard Webhooks has it; None sends them unsigned."""


Document = Source | Destination | Pipe | Contact


class Entry(Struct, kw_only=True, frozen=True):
    """The value of a `config` record."""

    version: int
    """1 for the first, one more at each apply that changed the document."""

    document: Document


def _too_many_keys(source: Source, had: int) -> Iterable[tuple[str, str]]:
    """A source that has more since an older version stays writable while it has no more than it `had`."""
    count = len(source.write_keys)
    if count > max(MOST_WRITE_KEYS, had):
        said = f"a source has at most {MOST_WRITE_KEYS} write keys, not {count}; leave out what is not used"
        yield "$.write_keys", said


def key_digest(write_key: str) -> str:
    """SEALED_PREFIX and the SHA-256 of a write key in hex; of something already sealed, itself."""
    if write_key.startswith(SEALED_PREFIX):
        return write_key
    return SEALED_PREFIX + hashlib.sha256(write_key.encode()).hexdigest()


def key_id(digest: str) -> str:
    """Names a write key, by the beginning of its digest."""
    return digest.removeprefix(SEALED_PREFIX)[:_KEY_ID]


def sealed(document: Document) -> Document:
    """The document as it may be published: without a usable write key."""
    if isinstance(document, Source):
        keys = [key_digest(key) for key in document.write_keys]
        return msgspec.structs.replace(document, write_keys=keys)
    return document


def kind_of(document: Document) -> str:
    """One of KINDS."""
    return str(document.__struct_config__.tag)


def topic_key(tenant: str, kind: str, name: str) -> bytes:
    """The key of a document's records on the `config` topic."""
    return f"{tenant}/{kind}/{name}".encode()


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Entry)


def encode_entry(entry: Entry) -> bytes:
    """The value of a `config` record."""
    return _encoder.encode(entry)


def decode_entry(value: bytes) -> Entry:
    """The entry of a `config` record's value.

    Raises:
        msgspec.MsgspecError: if the bytes are not one.
    """
    return _decoder.decode(value)


class Catalogue:
    """All documents at one moment, indexed by tenant and name. Immutable.

    A document may be there under an old key and its present one, while the provisioner takes a side over: the
    one that came later counts.
    """

    def __init__(self, entries: Mapping[bytes, Entry] | None = None, *, complete: bool = False) -> None:
        """`complete`: whether the topic says that it once held everything (`completeness`)."""
        self.entries: Mapping[bytes, Entry] = dict(entries or {})
        self.complete = complete
        documents = [entry.document for entry in self.entries.values()]
        self.sources = {(d.tenant, d.name): d for d in documents if isinstance(d, Source)}
        self.destinations = {(d.tenant, d.name): d for d in documents if isinstance(d, Destination)}
        self.pipes = {(d.tenant, d.name): d for d in documents if isinstance(d, Pipe)}
        self.contacts = {(d.tenant, d.name): d for d in documents if isinstance(d, Contact)}
        self.source_by_key = {key: s for s in self.sources.values() for key in s.write_keys}

    def problems(self, document: Document, former: Document | None = None) -> Iterable[tuple[str, str]]:
        """The contradictions of a document that takes the place of `former`: pairs of (path, sentence)."""
        if isinstance(document, Pipe):
            yield from self._missing(document, "source", self.sources)
            yield from self._missing(document, "destination", self.destinations)
        if isinstance(document, Source):
            had = former.write_keys if isinstance(former, Source) else ()
            yield from _too_many_keys(document, len(had))
            yield from self._shared_keys(document, frozenset(map(key_digest, had)))

    def _shared_keys(self, source: Source, had: Container[str]) -> Iterable[tuple[str, str]]:
        """Added keys that another source has as well; the other one's tenant is its own, or is not named.

        Those that it `had` are taken: older versions let two sources share a key, and each stays writable.
        """
        for at, key in enumerate(map(key_digest, source.write_keys)):
            if key in had:
                continue
            others = self._names_by_key.get(key, set()) - {(source.tenant, source.name)}
            for tenant, name in sorted(others):
                both = f"sources {source.name} and {name}" if tenant == source.tenant else "two sources"
                yield (
                    f"$.write_keys[{at}]",
                    f"{both} have one write key; state other write_keys for one of them",
                )

    @cached_property
    def _names_by_key(self) -> Mapping[str, set[TenantName]]:
        found: dict[str, set[TenantName]] = {}
        for name, source in self.sources.items():
            for key in map(key_digest, source.write_keys):
                found.setdefault(key, set()).add(name)
        return found

    @staticmethod
    def _missing(pipe: Pipe, field: str, known: Container[TenantName]) -> Iterable[tuple[str, str]]:
        name = getattr(pipe, field)
        if (pipe.tenant, name) not in known:
            yield f"$.{field}", f"there is no {field} {name!r}; apply it before or together with this pipe"
