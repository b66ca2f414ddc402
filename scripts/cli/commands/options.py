"""Options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from scripts.local.side import DATA_FOLDER
from shared.contracts.api_answers.access import Role

Data = Annotated[
    Path,
    typer.Option("--data", envvar="HIFI_DATA", help="Folder of the local side.", file_okay=False),
]
"""Folder of the side; use with the default `DATA_DEFAULT`."""

DATA_DEFAULT = DATA_FOLDER

Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        envvar="HIFI_SERVER",
        help="URL of a management API (token in HIFI_TOKEN or HIFI_TOKEN_FILE), or a context of "
        "`hifi login`; `local` is the side in the folder of --data.",
    ),
]
"""The documents that a command is about; see `scripts.local.client.documents.documents_at`."""

SideFolder = Annotated[
    Path | None,
    typer.Option("--data", envvar="HIFI_DATA", help="Folder of a local side.", file_okay=False),
]
"""Beside `Server`: without one of them, it is the current context, else the side in `.hifi`."""


Detach = Annotated[
    bool, typer.Option("--detach", help="Do not wait for its end; `hifi sides` shows how far it is.")
]
"""Option of commands that ask the deployer for a release."""


TrafficOnly = Annotated[
    bool,
    typer.Option(
        "--traffic-only",
        help="Wait only until the traffic is where it ends; what drains or is parked then goes on.",
    ),
]
"""Likewise."""


class MemberRole(StrEnum):
    """Roles of a member: no member is an operator."""

    VIEWER = Role.VIEWER
    EDITOR = Role.EDITOR
    OWNER = Role.OWNER


TenantRole = Annotated[MemberRole, typer.Option("--role", help="What the member may do.")]

Files = Annotated[list[Path], typer.Argument(help="YAML files, folders of them, or - for standard input.")]
DocumentName = Annotated[str, typer.Argument(metavar="KIND/NAME", help="The document, such as pipe/first.")]
Tenant = Annotated[str | None, typer.Option(help="Whose document, if several have one of that name.")]
