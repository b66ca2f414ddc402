"""Refusals of documents, each at its place in the user's files. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from scripts.documents.files import LocatedDocument
from shared.contracts.api_answers.problems import FieldError
from shared.contracts.documents import OWN_TENANTS, Source, key_digest
from shared.documents.problems import Problem, ProblemsError

_INDEX: Final = re.compile(r"\d+")


def refuse_together(written: Sequence[LocatedDocument]) -> None:
    """Refuse a document that is given twice, a write key of two tenants, and documents of hifi's own tenants.

    Raises:
        ProblemsError: with all of them.
    """
    problems: list[Problem] = []
    first: dict[tuple[str, str], LocatedDocument] = {}
    for each in written:
        key = each.wanted.key
        other = first.setdefault((each.document.tenant, str(key)), each)
        if other is not each:
            place = f"{other.file}:{other.section.line('$.name')}"
            problems.append(
                each.problem("$.name", f"{key.kind} {key.name!r} is given twice, first at {place}")
            )
        if each.document.tenant in OWN_TENANTS:
            own = f"{each.document.tenant!r} is hifi itself; choose another tenant"
            problems.append(each.problem("$.tenant", own))
    problems += _shared_keys(written)
    if problems:
        raise ProblemsError(problems)


def _shared_keys(written: Sequence[LocatedDocument]) -> Iterator[Problem]:
    """Write keys of two tenants: the API looks at one at a time, and would write the first before it refuses.

    Of two sources of one tenant the API decides: they may have shared the key since an older version.
    """
    first: dict[str, LocatedDocument] = {}
    for each in written:
        if not isinstance(each.document, Source) or not each.states_keys:
            continue
        for at, key in enumerate(each.document.write_keys):
            other = first.setdefault(key_digest(key), each)
            if other.document.tenant != each.document.tenant:
                place = f"{other.file}:{other.section.line('$.write_keys')}"
                said = f"sources {other.document.name!r} and {each.document.name!r} have one write key"
                yield each.problem(f"$.write_keys[{at}]", f"{said}, first at {place}; give each its own")


def located(refused: Iterable[FieldError], written: Sequence[LocatedDocument]) -> list[Problem]:
    """The refused fields of written documents as problems, with the file and line of each."""
    named = {str(each.wanted.key): each for each in written}
    return [
        Problem(
            file=each.file,
            line=each.section.line(path := field_path(refusal.pointer)),
            path=path,
            message=refusal.detail,
            fix=refusal.fix,
        )
        for refusal in refused
        if (each := named.get(refusal.document)) is not None
    ]


def field_path(pointer: str) -> str:
    """A JSON pointer as a path like `$.match.data[0]`."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    return "$" + "".join(f"[{step}]" if _INDEX.fullmatch(step) else f".{step}" for step in steps)
