"""Errors that the command line prints in place of a traceback, and what they say of a wrong name."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar, Final

_SHOWN: Final = 80
"""Characters of a wrong name that are compared."""


class OperatorError(Exception):
    """A failure that the operator at the command line can fix.

    The command line prints it on one line of stderr and exits with `status`. Code that calls a library raises
    a subclass in place of the library's error, because only that code knows what failed.
    """

    status: ClassVar[int] = 1
    """Exit status of the command."""

    def __init__(self, problem: str, fix: str = "") -> None:
        """Describe the failure.

        Args:
            problem: what failed, by name, and the cause.
            fix: what to do, unless `problem` says so already.
        """
        super().__init__(f"{problem}; {fix}" if fix else problem)


class UsageError(OperatorError):
    """An option or argument that the command cannot use."""

    status = 2


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?`, or the list of known names."""
    names = list(known)
    close = get_close_matches(name[:_SHOWN], names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names)}"
