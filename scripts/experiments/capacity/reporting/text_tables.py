"""Tables of texts: for a terminal, and as Markdown for the documentation. Pure."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from rich.table import Table


class TableOf(Struct, frozen=True, kw_only=True):
    """A table of texts."""

    title: str
    heads: Sequence[str]
    rows: list[list[str]]


def ratio_text(ratio: float | None) -> str:
    """Two digits; a dash without a ratio."""
    return "-" if ratio is None else f"{ratio:.2f}"


def rich_table(table: TableOf) -> Table:
    """A table for the terminal."""
    made = Table(title=table.title)
    for number, head in enumerate(table.heads):
        made.add_column(head, justify="left" if number == 0 else "right")
    for row in table.rows:
        made.add_row(*row)
    return made


def markdown(all_tables: Iterable[TableOf]) -> str:
    """The tables as the documentation has them."""
    return "\n\n".join("\n".join([f"**{table.title}**", "", *_lines(table)]) for table in all_tables) + "\n"


def _lines(table: TableOf) -> list[str]:
    rule = ["---", *["---:"] * (len(table.heads) - 1)]
    return [f"| {' | '.join(row)} |" for row in (table.heads, rule, *table.rows)]
