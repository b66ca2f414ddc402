"""A pipe that watches a field, in documents and in the ledger."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from shared.contracts.documents import Destination, Pipe, Source
from shared.contracts.field_counts import FieldCounts
from shared.contracts.ledger import Range, Stage, Tally
from shared.contracts.publish_plan import document_key
from shared.contracts.topics import Topic
from shared.contracts.watches import Watch
from tests.contract.observe.side import Side
from tests.harness.topics import Topics

DAY = 1_440
WATCH = Watch(field="data.country", kind="categories")
QUICK = {"skew_seconds": "0.1", "alarm_hold_seconds": "0", "alarm_skew_events": "100"}


class Watched:
    """Writes the ledger of a pipe that watches countries."""

    def __init__(self, bootstrap: str) -> None:
        self._side, self._offsets = Side(bootstrap), count()

    def put(self, minute: int, missing: int = 0, **countries: int) -> None:
        """A range of one tally."""
        events, offset = sum(countries.values()) + missing, next(self._offsets)
        counts = FieldCounts(events=events, missing=missing, texts=countries)
        tally = Tally(
            stage=Stage.FIRST,
            tenant="acme",
            minute=minute,
            name="watching",
            count=events,
            first=offset,
            last=offset,
            watched={(WATCH.field, WATCH.kind): counts},
        )
        found = Range(
            topic=Topic.OUTBOUND,
            partition=0,
            start=offset,
            end=offset + 1,
            newest_ms=minute * 60_000,
            tallies=[tally],
        )
        self._side.put(found)
        self._side.flush()


@contextmanager
def watching(topics: str) -> Iterator[Watched]:
    """A ledger, with the pipe's documents published."""
    config, documents = (
        Topics(topics),
        (
            Source(name="watched-shop", tenant="acme", write_keys=["long enough"]),
            Destination(name="watched-lake", tenant="acme"),
            Pipe(
                name="watching",
                tenant="acme",
                source="watched-shop",
                destination="watched-lake",
                watch=[WATCH],
            ),
        ),
    )
    config.publish(*documents)
    yield Watched(topics)
    for each in documents:
        config.put(Topic.CONFIG, None, [], document_key(each))
    config.flush()
