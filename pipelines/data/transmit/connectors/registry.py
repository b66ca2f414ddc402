"""The registry of connectors: types by name, and the open connectors of a process."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final

from pipelines.data.transmit import connectors
from pipelines.data.transmit.connectors.base import Connector, ConnectorContext, ConnectorType
from shared.contracts.documents import CANARY, Destination

_MODULES: Final = {
    "elasticsearch": "elasticsearch",
    "kafka": "kafka.connector",
    "kinesis": "aws.kinesis",
    "s3": "aws.s3",
    "webhook": "webhook",
}
"""The module of each connector in this package, by the names of `shared.connectors.registry`."""


class _ConnectorTypes(Mapping[str, ConnectorType[Any]]):
    """Connector types by name. Modules are imported when first needed, because boto3 takes a second."""

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


class ConnectorPool:
    """The open connectors of one process, for one event loop; each is opened when first needed."""

    def __init__(
        self,
        connector_types: Mapping[str, ConnectorType[Any]],
        context: ConnectorContext,
        canary: ConnectorContext | None = None,
    ) -> None:
        """`canary` is the context for the canary's destinations; None gives them that of the customers."""
        self._connector_types = connector_types
        self._contexts = {False: context, True: canary or context}
        # By name, and whether for the canary: the two share no connections.
        self._open: dict[tuple[str, bool], Connector[Any]] = {}
        self._opening: dict[tuple[str, bool], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def connector(self, destination: Destination) -> Connector[Any]:
        """The connector that sends to a destination. If opening it fails, the next call tries again.

        Raises:
            KeyError: if the connector is unknown.
        """
        name, canary = key = destination.connector, destination.tenant == CANARY
        if key not in self._open:
            async with self._opening[key]:
                if key not in self._open:
                    self._open[key] = await self._connector_types[name].open(self._contexts[canary])
        return self._open[key]

    async def close(self) -> None:
        """Close all open connectors."""
        for key in list(self._open):
            await self._open.pop(key).close()
