"""Finds the problems of a destination's options, which its connector declares. Pure."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

import msgspec

from shared.connectors.registry import SPECS, OptionsError, options_of
from shared.connectors.spec import ConnectorSpec, OptionHost
from shared.contracts.documents import DEFAULT_CONNECTOR, Destination
from shared.contracts.secrets import foreign_secrets
from shared.documents.problems import MOST_PROBLEMS, FieldProblem, plain, shown, unknown_within
from shared.runtime.errors import did_you_mean

_ROOT: Final = "$.options"


def option_fields(raw: Mapping[Any, Any]) -> frozenset[str]:
    """Names of the options of a destination's connector; none if the connector does not exist."""
    spec = SPECS.get(_connector(raw))
    return frozenset(_fields(spec.options)) if spec else frozenset()


def option_problems(raw: Mapping[Any, Any]) -> Iterator[FieldProblem]:
    """The reasons why a connector would refuse a destination's options; none if it would accept them."""
    name, options = _connector(raw), raw.get("options", {})
    spec = SPECS.get(name)
    if spec is None:
        yield "$.connector", f"unknown connector {shown(name)}", did_you_mean(name, SPECS)
    elif isinstance(options, dict):
        found = list(islice(_field_faults(name, spec.options, options), MOST_PROBLEMS))
        yield from found or _last_faults(spec, options)
        tenant = str(raw.get("tenant"))
        for path, reference in foreign_secrets(tenant, options):
            fix = f"a tenant's secrets begin with its name: secret://{tenant}/..."
            yield f"{_ROOT}{path}", f"names {reference}, which is not its tenant's", fix


def hosts(destination: Destination) -> Iterator[OptionHost]:
    """Hosts that a destination dials, each with its path in the document."""
    spec = SPECS.get(destination.connector)
    if spec is None:
        return
    try:
        options = options_of(destination, spec)
    except OptionsError:
        return
    for path, host in spec.hosts(options):
        yield _below(path), host


def summary(destination: Destination) -> str:
    """Where a destination's events go, in a few words; empty if its connector does not know its options."""
    spec = SPECS.get(destination.connector)
    if spec is None:
        return ""
    try:
        return spec.summary(options_of(destination, spec))
    except OptionsError:
        return ""


def _connector(raw: Mapping[Any, Any]) -> str:
    return str(raw.get("connector", DEFAULT_CONNECTOR))


def _fields(struct: Any) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(struct)}


def _field_faults(connector: str, struct: Any, raw: Mapping[Any, Any]) -> Iterator[FieldProblem]:
    fields = _fields(struct)
    for name in raw:
        if name not in fields:
            said = f"the {connector} connector has no option {shown(name)}"
            yield f"{_ROOT}.{name}", said, did_you_mean(str(name), fields)
    for name, field in fields.items():
        if name in raw:
            yield from _value_faults(name, raw[name], field.type)
        elif field.required:
            yield _ROOT, f"{name!r} is missing", _described(field.type)


def _value_faults(name: str, value: object, wanted: Any) -> Iterator[FieldProblem]:
    """Problems of a value, without the value: it may be a misplaced secret."""
    try:
        known = msgspec.to_builtins(msgspec.convert(value, wanted))
    except msgspec.ValidationError as error:
        message, _, below = str(error).partition(" - at `$")
        said = "is not allowed here" if "matching regex" in message else plain(message)
        yield f"{_ROOT}.{name}{below.rstrip('`')}", said, _described(wanted)
        return
    yield from unknown_within(value, known, f"{_ROOT}.{name}")


def _last_faults(spec: ConnectorSpec[Any], raw: Mapping[Any, Any]) -> Iterator[FieldProblem]:
    for path, message, fix in spec.faults(msgspec.convert(raw, spec.options)):
        yield _below(path), message, fix


def _described(wanted: Any) -> str:
    """The description of a field's type; empty if it has none."""
    notes = getattr(wanted, "__metadata__", ())
    return next((note.description for note in notes if getattr(note, "description", None)), "")


def _below(path: str) -> str:
    return _ROOT + path.removeprefix("$")
