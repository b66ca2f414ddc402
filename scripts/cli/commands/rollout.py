"""`hifi rollout`."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.text import Text

from scripts.cli.commands.options import Server, SideFolder, Tenant
from scripts.cli.document_names import live_document
from scripts.local.client.documents import documents_at
from scripts.terminal import out, plain_table, printable
from shared.contracts.document_items import DocumentKey
from shared.contracts.documents import Pipe
from shared.contracts.rollouts import RolloutAction
from shared.runtime.errors import OperatorError


def rollout(  # noqa: PLR0913, PLR0917 - one parameter an option
    pipe: Annotated[str, typer.Argument(help="Name of the pipe.")],
    action: Annotated[
        RolloutAction | None,
        typer.Argument(
            help="pause it, resume it, take it one step back, or finish it: open the pipe at once."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    tenant: Tenant = None,
    server: Server = None,
    data: SideFolder = None,
) -> None:
    """Show how far a pipe with a rollout is opened, and pause it, resume it, take it back or finish it.

    After a stop it goes on only on request: resume tries the next step again.
    """
    documents = documents_at(server, data)
    found = live_document(documents, DocumentKey("pipe", pipe), tenant)
    if not isinstance(found.document, Pipe) or found.document.rollout is None:
        raise OperatorError(
            f"pipe {pipe!r} has no rollout", "add `rollout: {steps: [1, 10, 50, 100]}` to its document"
        )
    if action is None:
        state = documents.rollout(found.tenant, pipe)
    else:
        state = documents.request_rollout(found.tenant, pipe, action)
    if as_json:
        typer.echo(json.dumps(state, indent=2, ensure_ascii=False))
    else:
        _show(state, found.document.rollout.steps)


def _show(state: Any, steps: Sequence[float]) -> None:
    table = plain_table("STEP", "SHARE", "")
    if not state["step"]:
        table.add_row("0", "0 %", _present(state))
    for number, share in enumerate(steps, start=1):
        table.add_row(str(number), f"{share:g} %", _present(state) if number == state["step"] else "")
    out().print(table)


def _present(state: Any) -> Text:
    """The state of the current step, its reason, its start, and the earliest time of the next step."""
    reason = f": {printable(state['reason'])}" if state["reason"] else ""
    following = "" if state["next_ms"] is None else f", next step from {_moment(state['next_ms'])} on"
    return Text(f"<- {state['state']}{reason} (since {_moment(state['since_ms'])}{following})")


def _moment(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms // 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"
