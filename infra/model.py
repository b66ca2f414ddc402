"""The base of every settings model, and the text of its validation errors."""

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo


class Model(BaseModel):
    """Frozen, and without extra fields: a misspelt field is an error, not a default."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def error_lines(model: type[BaseModel], error: ValidationError) -> list[str]:
    """One line for each invalid field: its name, the error and the field's description.

    Args:
        model: The model that was validated.
        error: The error that it raised.
    """
    return [_line(model, each["loc"], each["msg"]) for each in error.errors()]


def _line(model: type[BaseModel], location: tuple[int | str, ...], message: str) -> str:
    line = f"{'.'.join(map(str, location))}: {message}" if location else message
    description = _description(model, location)
    return f"{line} ({description})" if description else line


def _description(model: type[BaseModel], location: tuple[int | str, ...]) -> str | None:
    kind: Any = model
    field: FieldInfo | None = None
    for name in location:
        fields = getattr(kind, "model_fields", {})
        if name not in fields:
            break
        field = fields[name]
        kind = field.annotation
    return field.description if field else None
