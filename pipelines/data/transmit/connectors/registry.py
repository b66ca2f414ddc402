"""The connectors by name, and the options of a destination as its connector wants them."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final

import msgspec

from pipelines.data.transmit import connectors
from pipelines.data.transmit.connectors.base import Kind
from shared.contracts.documents import Destination
from shared.contracts.secrets import foreign_secrets

_MODULES: Final = {
    "elasticsearch": "elasticsearch",
    "kafka": "kafka.connector",
    "kinesis": "aws.kinesis",
    "s3": "aws.s3",
    "webhook": "webhook",
}
"""The module of each connector, in this package; a new connector is a line here."""


class _Kinds(Mapping[str, Kind[Any]]):
    """Kinds by name. A module is imported when its kind is asked for, and not before: boto takes a second."""

    def __getitem__(self, name: str) -> Kind[Any]:
        found: Kind[Any] = import_module(f"{connectors.__name__}.{_MODULES[name]}").CONNECTOR
        return found

    def __contains__(self, name: object) -> bool:
        return name in _MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


KINDS: Final[Mapping[str, Kind[Any]]] = _Kinds()


class OptionsError(ValueError):
    """A destination that this version cannot read: a word, a colon, a sentence."""


def options_of(destination: Destination, kinds: Mapping[str, Kind[Any]]) -> Any:
    """A destination's options, as its connector wants them; what it does not know is passed over.

    Raises:
        OptionsError: if there is no such connector, it cannot read them, or they name another's secret.
    """
    kind = kinds.get(destination.connector)
    if kind is None:
        raise OptionsError(f"unknown_connector: there is no connector {destination.connector!r}")
    for path, reference in foreign_secrets(destination.tenant, destination.options):
        raise OptionsError(f"foreign_secret: options{path} names {reference}, which is not its tenant's")
    try:
        return msgspec.convert(destination.options, kind.options)
    except msgspec.ValidationError as error:
        raise OptionsError(f"bad_options: the {destination.connector} connector: {error}") from error
