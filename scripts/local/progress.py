"""What a long command says while it works: a spinner on a terminal, lines everywhere else."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

Say = Callable[[str], None]


class Progress:
    """Steps of a command, one after the other, each with the time it took."""

    def __init__(self, console: Console) -> None:
        self.console = console

    @contextmanager
    def step(self, text: str) -> Iterator[Say]:
        """Show that `text` goes on; the value given replaces the text by something more precise."""
        began = time.monotonic()
        if self.console.is_terminal:
            with self.console.status(text) as status:
                yield status.update
        else:
            self.console.print(f"… {text}", highlight=False)
            yield lambda _: None
        took = time.monotonic() - began
        self.console.print(f"[green]✓[/] {text} [dim]{took:.1f} s[/]", highlight=False)

    def say(self, text: str) -> None:
        """A line of its own."""
        self.console.print(text, highlight=False, soft_wrap=True)
