"""Problems of a user's files, with their places."""

from collections.abc import Iterable
from difflib import get_close_matches

from msgspec import Struct

from shared.runtime.errors import OperatorError

FieldProblem = tuple[str, str, str]
"""Path, message and fix of a problem within a document."""


class Problem(Struct, frozen=True, kw_only=True, order=True):
    """One problem. As text: `file:line: $.field: message; fix`."""

    file: str
    line: int
    """From 1."""

    path: str
    message: str
    fix: str = ""

    def __str__(self) -> str:
        fix = f"; {self.fix}" if self.fix else ""
        return f"{self.file}:{self.line}: {self.path}: {self.message}{fix}"


class ProblemsError(OperatorError):
    """Files with problems."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?`, or the list of known names."""
    names = list(known)
    close = get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names)}"


def plain(message: str) -> str:
    """msgspec's message in plain words."""
    return (
        message.replace("`", "")
        .replace("Object missing required field", "lacks the field")
        .replace("str", "text")
        .replace("object", "mapping")
        .replace("array", "list")
    )
