"""Answers of the management API, compared with its description in docs: nothing more, nothing less."""

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import jsonschema

KEPT: Final = Path(__file__).parents[2] / "docs" / "openapi" / "management.json"
_PASSED_ON: Final = "/meter/"
"""Paths that pass on observe's answers: these are scripted here, and observe's own tests check them."""


class Description:
    """The description, read strictly: a client may meet more fields, but each that there is must be in it."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        self._components = closed(found["components"])
        self._paths = [(_pattern(path), operations) for path, operations in _ordered(found["paths"])]

    def check(self, method: str, path: str, status: int, answer: Any) -> None:
        """Raise AssertionError unless a JSON answer is what the description says."""
        path = path.partition("?")[0]
        operations = next((each for pattern, each in self._paths if pattern.fullmatch(path)), None)
        if operations is None or method.lower() not in operations or _PASSED_ON in path:
            return
        said = operations[method.lower()]["responses"].get(str(status))
        if said is None:
            assert status >= HTTPStatus.BAD_REQUEST, f"{method} {path}: status {status} is not described"
            return
        if "$ref" in said:
            said = self._components["responses"][said["$ref"].rpartition("/")[2]]
        for content in said.get("content", {}).values():
            schema = content["schema"] | {"components": self._components}
            wrong = [each.message for each in jsonschema.Draft202012Validator(schema).iter_errors(answer)]
            assert not wrong, f"{method} {path}: {status} {wrong[0][:500]}"


def kept() -> Description:
    """The one in docs."""
    return Description(json.loads(KEPT.read_text()))


def closed(schema: Any) -> Any:
    """A schema whose objects have no other members than those that it names."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(each) for name, each in schema.items()}
    return {"additionalProperties": False} | found if isinstance(found.get("properties"), dict) else found


def _ordered(paths: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The paths with the fewest parameters first: they come before those that match them, too."""
    return sorted(paths.items(), key=lambda each: (each[0].count("{"), each[0]))


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(path)))
