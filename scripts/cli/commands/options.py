"""Options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path,
    typer.Option("--data", envvar="HIFI_DATA", help="Folder of the local side.", file_okay=False),
]
"""Folder of the side; use with the default `DATA_DEFAULT`."""

DATA_DEFAULT = Path(".hifi")


class Kind(StrEnum):
    """Kinds of documents."""

    SOURCE = "source"
    DESTINATION = "destination"
    PIPE = "pipe"
    CONTACT = "contact"


Files = Annotated[list[Path], typer.Argument(help="YAML files, folders of them, or - for standard input.")]
DocumentName = Annotated[str, typer.Argument(metavar="KIND/NAME", help="The document, such as pipe/first.")]
Tenant = Annotated[str | None, typer.Option(help="Whose document, if several have one of that name.")]
