"""The connectors by name, and the options of a destination as its connector wants them."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final

import msgspec

from pipelines.data.transmit import connectors
from pipelines.data.transmit.connectors.base import Connector, ConnectorContext, ConnectorType
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


class _ConnectorTypes(Mapping[str, ConnectorType[Any]]):
    """Kinds by name. A module is imported when its kind is asked for, and not before: boto takes a second."""

    def __getitem__(self, name: str) -> ConnectorType[Any]:
        found: ConnectorType[Any] = import_module(f"{connectors.__name__}.{_MODULES[name]}").CONNECTOR
        return found

    def __contains__(self, name: object) -> bool:
        return name in _MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


CONNECTORS: Final[Mapping[str, ConnectorType[Any]]] = _ConnectorTypes()


class OptionsError(ValueError):
    """A destination that this version cannot read: a word, a colon, a sentence."""


def options_of(destination: Destination, connector_types: Mapping[str, ConnectorType[Any]]) -> Any:
    """A destination's options, as its connector wants them; what it does not know is passed over.

    Raises:
        OptionsError: if there is no such connector, it cannot read them, or they name another's secret.
    """
    connector_type = connector_types.get(destination.connector)
    if connector_type is None:
        raise OptionsError(f"unknown_connector: there is no connector {destination.connector!r}")
    for path, reference in foreign_secrets(destination.tenant, destination.options):
        raise OptionsError(f"foreign_secret: options{path} names {reference}, which is not its tenant's")
    try:
        return msgspec.convert(destination.options, connector_type.options)
    except msgspec.ValidationError as error:
        raise OptionsError(f"bad_options: the {destination.connector} connector: {error}") from error


class ConnectorPool:
    """One process's connectors. Belongs to one event loop."""

    def __init__(self, connector_types: Mapping[str, ConnectorType[Any]], context: ConnectorContext) -> None:
        self._connector_types = connector_types
        self._context = context
        self._open: dict[str, Connector[Any]] = {}
        self._opening: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def named(self, name: str) -> Connector[Any]:
        """The connector of that name; what its opening raises is raised, and the next call tries anew.

        Raises:
            KeyError: if there is none.
        """
        if name not in self._open:
            async with self._opening[name]:
                if name not in self._open:
                    self._open[name] = await self._connector_types[name].open(self._context)
        return self._open[name]

    async def close(self) -> None:
        """Close what was opened."""
        for name in list(self._open):
            await self._open.pop(name).close()
