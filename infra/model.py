"""The base of every settings model, and how a refused one is told."""

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo


class Model(BaseModel):
    """Frozen, and closed: a misspelt field is an error, not a default."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def tell(model: type[BaseModel], error: ValidationError) -> list[str]:
    """One line for each field that was refused: its name, what is wrong, and what the field is.

    Args:
        model: The model that refused.
        error: What it raised.
    """
    return [_line(model, each["loc"], each["msg"]) for each in error.errors()]


def _line(model: type[BaseModel], place: tuple[int | str, ...], message: str) -> str:
    line = f"{'.'.join(map(str, place))}: {message}" if place else message
    description = _description(model, place)
    return f"{line} ({description})" if description else line


def _description(model: type[BaseModel], place: tuple[int | str, ...]) -> str | None:
    kind: Any = model
    field: FieldInfo | None = None
    for name in place:
        fields = getattr(kind, "model_fields", {})
        if name not in fields:
            break
        field = fields[name]
        kind = field.annotation
    return field.description if field else None
