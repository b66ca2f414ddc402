"""Apply the sample configuration, with the demo's own receiver as destination."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from scripts.documents.files import LocatedDocument, read_documents
from scripts.local.client.documents import documents_of
from scripts.local.side import Side
from shared.contracts.documents import Destination

SAMPLE: Final = "demo.yaml"
SAMPLE_BASE: Final = "http://127.0.0.1:9000"
KEY: Final = "demo-write-key"


def sample_file() -> Path:
    """The sample file in the installed package."""
    return Path(str(files("scripts"))) / "samples" / SAMPLE


def apply_sample(side: Side, receiver_url: str, say: Callable[[str], None]) -> None:
    """Publish the changed documents of the sample.

    Raises:
        DocumentsError: if the side does not answer, refuses them, or does not publish them.
    """
    wanted = [_moved(each, receiver_url).wanted for each in read_documents([sample_file()])]
    documents = documents_of(side)
    documents.write(wanted, documents.check(wanted), say)


def _moved(written: LocatedDocument, receiver_url: str) -> LocatedDocument:
    document = written.document
    if not isinstance(document, Destination):
        return written
    url = str(document.options["url"]).replace(SAMPLE_BASE, receiver_url)
    return replace(written, document=replace(document, options={**document.options, "url": url}))
