"""The documents of the bench: one source, one destination, one pipe with a pattern."""

from typing import Final

from shared.contracts.documents import Destination, Document, Pipe, Source

WRITE_KEY: Final = "bench-write-key"
NAME: Final = "bench"
"""Name of the source, the destination, the pipe and their tenant."""


def documents(url: str) -> list[Document]:
    """All events of the source go to `url`; the pattern matches them all, but must be evaluated."""
    return [
        Source(name=NAME, tenant=NAME, write_keys=[WRITE_KEY]),
        Destination(name=NAME, tenant=NAME, options={"url": url}),
        Pipe(
            name=NAME,
            tenant=NAME,
            source=NAME,
            destination=NAME,
            match={"type": [{"prefix": "video."}]},
        ),
    ]
