"""What the API refuses, at its place in the user's files. Pure."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from scripts.documents.api_client import FieldRefusal
from scripts.documents.files import LocatedDocument
from shared.contracts.documents import OWN_TENANTS
from shared.documents.problems import Problem, ProblemsError

_INDEX: Final = re.compile(r"\d+")


def refuse_together(written: Sequence[LocatedDocument]) -> None:
    """Refuse a document that is given twice, or is of a tenant of hifi's own.

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
    if problems:
        raise ProblemsError(problems)


def located(refused: Iterable[FieldRefusal], written: Sequence[LocatedDocument]) -> list[Problem]:
    """What the API says of fields, with the file and line of each."""
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
