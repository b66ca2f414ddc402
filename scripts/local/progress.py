"""Progress of a long command: a spinner on a terminal, lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress

from rich.console import Console

Say = Callable[[str], None]


class Progress:
    """Shows the steps of a command, each with its duration."""

    def __init__(self, console: Console) -> None:
        self.console = console

    @contextmanager
    def step(self, text: str) -> Iterator[Say]:
        """Show a step while the block runs; the yielded function replaces the text on a terminal."""
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
        """Print a line."""
        self.console.print(text, highlight=False, soft_wrap=True)

    @contextmanager
    def last_step(self, text: str) -> Iterator[None]:
        """Show a step that is done whether or not anything can be shown: the terminal may be closed."""
        with ExitStack() as step:
            with _closed_output_ignored():
                step.enter_context(self.step(text))
            yield
            with _closed_output_ignored():
                step.close()

    def last_words(self, text: str) -> None:
        """Print a line, if it can be printed."""
        with _closed_output_ignored():
            self.say(text)


def _closed_output_ignored() -> AbstractContextManager[object]:
    """Ignores OSError of a closed terminal, and what rich makes of it later; at a closed pipe it exits."""
    return suppress(Exception, SystemExit)
