"""Reads documents from a user's files, each with its place there."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from scripts.documents.bundle import Wanted
from shared.contracts.document_parsing import parse
from shared.contracts.documents import SEALED_PREFIX, Document
from shared.contracts.yaml_bounds import YamlError
from shared.documents.check import field_problems
from shared.documents.problems import Problem, ProblemsError
from shared.documents.yaml_loader import Section, sections

STANDARD_INPUT: Final = Path("-")
_SUFFIXES: Final = {".yaml", ".yml", ".json"}
_UNSTATED: Final = [f"{SEALED_PREFIX}{'0' * 64}"]
"""Placeholder for the write keys that a source leaves as they are."""


class LocatedDocument(Struct, frozen=True):
    """A document, and its place in a file."""

    document: Document
    file: str
    section: Section
    states_keys: bool = True
    """False for a source without write keys: it keeps those that it has, and a new one is given one."""

    @property
    def wanted(self) -> Wanted:
        """The request to the API: the document, and whether it states its write keys."""
        return Wanted(document=self.document, states_keys=self.states_keys)

    def problem(self, path: str, message: str) -> Problem:
        """A problem of this document at a path in it."""
        return Problem(file=self.file, line=self.section.line(path), path=path, message=message)


def without_file(document: Document, name: str, text: str) -> LocatedDocument:
    """A document that is in no file, with its text in place of one."""
    return LocatedDocument(document, name, next(sections(text)))


def read_documents(paths: Iterable[Path]) -> list[LocatedDocument]:
    """All documents of files, folders (their YAML and JSON files) and `-`.

    Raises:
        ProblemsError: with all problems of all files.
    """
    written: list[LocatedDocument] = []
    problems: list[Problem] = []
    for path in _expanded(paths, problems):
        _read(path, written, problems)
    if problems:
        raise ProblemsError(problems)
    return written


def _expanded(paths: Iterable[Path], problems: list[Problem]) -> Iterator[Path]:
    for path in paths:
        if path == STANDARD_INPUT or not path.is_dir():
            yield path
            continue
        found = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
        if not found:
            problems.append(
                Problem(
                    file=str(path), line=1, path="$", message="the folder has no .yaml, .yml or .json file"
                )
            )
        yield from found


def _read(path: Path, written: list[LocatedDocument], problems: list[Problem]) -> None:
    name = "<stdin>" if path == STANDARD_INPUT else str(path)
    try:
        text = sys.stdin.read() if path == STANDARD_INPUT else path.read_text(encoding="utf-8")
        for section in sections(text):
            value = _with_keys(section.value)
            found = [
                Problem(file=name, line=section.line(where), path=where, message=message, fix=fix)
                for where, message, fix in field_problems(value)
            ]
            problems += found
            if not found:
                written.append(LocatedDocument(parse(value), name, section, value is section.value))
    except YamlError as error:
        problems.append(Problem(file=name, line=error.line, path=error.path, message=str(error)))
    except (OSError, UnicodeDecodeError) as error:
        problems.append(Problem(file=name, line=1, path="$", message=f"cannot be read: {error}"))


def _with_keys(value: Any) -> Any:
    if not isinstance(value, dict) or value.get("kind") != "source" or "write_keys" in value:
        return value
    return value | {"write_keys": _UNSTATED}
