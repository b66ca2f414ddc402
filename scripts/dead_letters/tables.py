"""Dead letters as tables. Control characters, which ids and reasons may hold, are escaped."""

from collections.abc import Container, Iterable

from rich.table import Table
from rich.text import Text

from scripts.terminal import plain_table, printable
from scripts.time_args import utc_text
from shared.contracts.documents import TenantName
from shared.dead_letters.dead_letter import DeadLetter, Replays, as_mapping
from shared.dead_letters.summary import Summary

_ID_WIDTH = 40


def listed(letters: Iterable[DeadLetter], replayed: Replays) -> Table:
    """One row per letter."""
    table = plain_table(
        "LETTER", "DIED (UTC)", "TENANT", "PIPE", "DESTINATION", "EVENT ID", "REPLAYED", "REASON"
    )
    for letter in letters:
        at_ms = replayed.get(letter.key)
        table.add_row(
            letter.reference,
            utc_text(letter.key.written_ms),
            Text(printable(letter.tenant)),
            Text(printable(letter.pipe)),
            Text(printable(letter.destination) or "?"),
            Text(_cut(printable(letter.event_id))),
            utc_text(at_ms) if at_ms is not None else "-",
            Text(printable(letter.reason), no_wrap=True, overflow="ellipsis"),
        )
    return table


def _cut(text: str) -> str:
    return text if len(text) <= _ID_WIDTH else text[: _ID_WIDTH - 1] + "…"


def kinds(summary: Summary, pipes: Container[TenantName]) -> Table:
    """Counts by kind, the largest first; `pipes` are the published ones."""
    table = plain_table("LETTERS", "TENANT", "PIPE", "DESTINATION", "REASON", "")
    for (tenant, pipe, destination, word), count in summary.kinds.most_common():
        known = (tenant, pipe) in pipes
        hint = "" if known else "no such pipe is published: they will become dead letters again"
        names = (Text(printable(name)) for name in (tenant, pipe, destination or "?", word))
        table.add_row(f"{count:,}", *names, f"[yellow]{hint}[/]" if hint else "")
    return table


def whole(letter: DeadLetter, replayed: Replays, *, body: bool) -> Table:
    """Everything about one letter; its data only where it is asked for."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    facts = as_mapping(letter, replayed, body=body)
    attributes = facts.pop("attributes")
    for name, value in facts.items():
        moment = name.endswith("_ms") and value is not None
        text = f"{utc_text(value)} UTC" if moment else "-" if value is None else str(value)
        table.add_row(name.removesuffix("_ms"), Text(printable(text)))
    for name, value in attributes.items():
        table.add_row(f"ce {name}", Text(printable(value)))
    return table
