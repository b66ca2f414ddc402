"""Decides what applying documents changes, given the published ones. Pure."""

from collections.abc import Iterator, Sequence

from scripts.documents.files import LocatedDocument
from shared.contracts.documents import (
    OWN_TENANTS,
    Catalogue,
    Document,
    Pipe,
    kind_of,
    topic_key,
)
from shared.contracts.egress_policy import EgressPolicy
from shared.contracts.publish_plan import PlannedDocument, step_of
from shared.documents.problems import Problem, ProblemsError
from shared.documents.reach import out_of_reach


def plan(
    written: Sequence[LocatedDocument], published: Catalogue, reach: EgressPolicy
) -> list[PlannedDocument]:
    """The changes to publish; documents of one call may refer to each other.

    Raises:
        ProblemsError: if one contradicts another or a published one, or dials a refused address.
    """
    steps = [step_of(each.document, published) for each in written]
    after = Catalogue({**published.entries, **{step.key: step.entry for step in steps}})
    problems = [
        *_repeated(written),
        *_own(written),
        *_moved(written, published),
        *_contradictions(written, after),
        *_broken(written, published, after),
        *_out_of_reach(written, reach),
    ]
    if problems:
        raise ProblemsError(problems)
    return steps


def _repeated(written: Sequence[LocatedDocument]) -> Iterator[Problem]:
    first: dict[bytes, LocatedDocument] = {}
    for each in written:
        kind, name = kind_of(each.document), each.document.name
        other = first.setdefault(topic_key(kind, name), each)
        if other is not each:
            place = f"{other.file}:{other.section.line('$.name')}"
            yield each.problem("$.name", f"{kind} {name!r} is given twice, first at {place}")


def _own(written: Sequence[LocatedDocument]) -> Iterator[Problem]:
    """Documents that nobody would publish: hifi's own tenants write theirs themselves."""
    for each in written:
        if each.document.tenant in OWN_TENANTS:
            yield each.problem("$.tenant", f"{each.document.tenant!r} is hifi itself; choose another tenant")


def _moved(written: Sequence[LocatedDocument], published: Catalogue) -> Iterator[Problem]:
    """Documents that would move to another tenant, with the events under way to them."""
    for each in written:
        former = published.entries.get(topic_key(kind_of(each.document), each.document.name))
        if former and former.document.tenant != each.document.tenant:
            owner = former.document.tenant
            yield each.problem("$.tenant", f"belongs to tenant {owner!r}; choose another name")


def _contradictions(written: Sequence[LocatedDocument], after: Catalogue) -> Iterator[Problem]:
    for each in written:
        for path, message in after.problems(each.document):
            yield each.problem(path, message)


def _broken(written: Sequence[LocatedDocument], published: Catalogue, after: Catalogue) -> Iterator[Problem]:
    """Published pipes that these documents would contradict, for example by another tenant."""
    given = {topic_key(kind_of(each.document), each.document.name) for each in written}
    standing = [p for p in published.pipes.values() if topic_key("pipe", p.name) not in given]
    broken = [p for p in standing if any(after.problems(p)) and not any(published.problems(p))]
    for each in written:
        for pipe in broken:
            if _names(pipe, each.document):
                yield each.problem("$.tenant", f"pipe {pipe.name!r} of tenant {pipe.tenant!r} uses it")


def _out_of_reach(written: Sequence[LocatedDocument], reach: EgressPolicy) -> Iterator[Problem]:
    """Documents with an address that would be refused when it is dialled."""
    for each in written:
        for path, message in out_of_reach(each.document, reach):
            yield each.problem(path, message)


def _names(pipe: Pipe, document: Document) -> bool:
    named = {("source", pipe.source), ("destination", pipe.destination)}
    return (kind_of(document), document.name) in named


def users(published: Catalogue, kind: str, name: str) -> list[str]:
    """Names of the pipes that use a source or destination."""
    if kind not in ("source", "destination"):
        return []
    return sorted(pipe.name for pipe in published.pipes.values() if getattr(pipe, kind) == name)
