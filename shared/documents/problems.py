"""Problems of a user's files, with their places."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from shared.contracts.document_parsing import unknown_fields
from shared.runtime.errors import OperatorError, did_you_mean

FieldProblem = tuple[str, str, str]
"""Path, message and fix of a problem within a document."""

MOST_PROBLEMS: Final = 20
"""Most problems that are looked for in one document: a hostile one may have thousands."""

_TYPES: Final[Mapping[str, str]] = {"str": "text", "object": "mapping", "array": "list"}
_TYPE: Final = re.compile(rf"\b(?:{'|'.join(_TYPES)})\b")
_SHOWN: Final = 80
"""Characters of a wrong value that an error repeats."""


class Problem(Struct, frozen=True, kw_only=True, order=True):
    """One problem. As text: `file:line: $.field: message; fix`."""

    file: str
    line: int
    """Line number, from 1."""

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


def unknown_within(value: object, known: object, path: str) -> Iterator[FieldProblem]:
    """Fields of the value at a path that are not in what it was decoded to."""
    for place, message, names in unknown_fields(value, known, path):
        yield place, message, did_you_mean(place.rpartition(".")[2], names)


def shown(value: object) -> str:
    """A wrong value as an error repeats it, cut if it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def plain(message: str) -> str:
    """msgspec's message in plain words; names of fields stay as they are."""
    said = message.replace("Object missing required field", "lacks the field")
    if said.startswith("Expected"):
        said = _TYPE.sub(lambda found: _TYPES[found[0]], said)
    return said.replace("`", "")
