"""Finds all problems of one document, its connector's options included. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from scripts.documents.options import option_fields, option_problems
from shared.documents import check
from shared.documents.problems import FieldProblem


class _ConnectorOptions:
    def fields(self, raw: Mapping[Any, Any]) -> Collection[str]:
        return option_fields(raw)

    def problems(self, raw: Mapping[Any, Any]) -> Iterable[FieldProblem]:
        return option_problems(raw)


def field_problems(raw: object) -> Iterator[FieldProblem]:
    """The reasons why `parse` would refuse a document; none if it would accept it."""
    return check.field_problems(raw, _ConnectorOptions())
