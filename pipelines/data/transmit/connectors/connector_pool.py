"""Connectors in use: each is opened when the first destination needs it, and kept."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from pipelines.data.transmit.connectors.base import Connector, Context, Kind


class ConnectorPool:
    """One process's connectors. Belongs to one event loop."""

    def __init__(self, kinds: Mapping[str, Kind[Any]], context: Context) -> None:
        self._kinds = kinds
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
                    self._open[name] = await self._kinds[name].open(self._context)
        return self._open[name]

    async def close(self) -> None:
        """Close what was opened."""
        for name in list(self._open):
            await self._open.pop(name).close()
