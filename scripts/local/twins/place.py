"""Folders and ports of two local sides and of the edge before them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import msgspec

from scripts.local.addresses import HOST
from scripts.local.data_folder import check_twins_folder
from scripts.local.folders import Folders
from scripts.local.processes.profile import SideProfile
from scripts.local.side import DEFAULT_PARTITIONS, NoSideError, Shared, Side
from scripts.local.twins.haproxy_config import PINNED_MAP
from scripts.local.whole_file import write_whole
from shared.contracts.side_weights import SIDES
from shared.runtime.errors import OperatorError

DEFAULT_PORT: Final = 8110
"""Beside the ports of a side by itself."""

_EDGE_PORTS: Final = 5
_FIRST_SIDE: Final = 10
"""Ports of the first side, counted from the edge's first."""

_BETWEEN: Final = 25
"""Distance between the first ports of the two sides."""


class NoTwinsError(OperatorError):
    """No twins were started in a folder, or their description cannot be read."""


@dataclass(frozen=True, kw_only=True)
class Edge(Folders):
    """Folders below `root`, ports from `port` on: events, management API, console, store, deployer."""

    port: int

    @property
    def events_url(self) -> str:
        """Where customers post events."""
        return f"http://{HOST}:{self.port}"

    @property
    def api_port(self) -> int:
        """Port of the management API."""
        return self.port + 1

    @property
    def api_url(self) -> str:
        """URL of the management API."""
        return f"http://{HOST}:{self.api_port}"

    @property
    def console_port(self) -> int:
        """Port of the console."""
        return self.port + 2

    @property
    def console_url(self) -> str:
        """The console's address, for a browser."""
        return f"http://{HOST}:{self.console_port}"

    @property
    def store_port(self) -> int:
        """Port of the store of documents and scorecards, which both sides use."""
        return self.port + 3

    @property
    def store_url(self) -> str:
        """Endpoint of the store."""
        return f"http://{HOST}:{self.store_port}"

    @property
    def deploy_port(self) -> int:
        """Port of the deployer's health and metrics."""
        return self.port + 4

    @property
    def ports(self) -> range:
        """Every port of the edge."""
        return range(self.port, self.port + _EDGE_PORTS)

    @property
    def configuration(self) -> Path:
        """HAProxy's configuration, generated."""
        return self.root / "haproxy.cfg"

    @property
    def pinned_map(self) -> Path:
        """HAProxy's map of the write keys that are pinned to a side."""
        return self.root / PINNED_MAP

    @property
    def socket(self) -> Path:
        """Socket of HAProxy's runtime API."""
        return self.run / "haproxy.sock"

    @property
    def state(self) -> Path:
        """File of the weights that hold."""
        return self.root / "traffic.json"


class _Description(msgspec.Struct, kw_only=True):
    port: int
    partitions: int
    profile: SideProfile = SideProfile.ALL


@dataclass(frozen=True, kw_only=True)
class Twins:
    """Two sides and their edge, each in a folder of its own below `root`."""

    root: Path
    port: int = DEFAULT_PORT
    partitions: int = DEFAULT_PARTITIONS
    profile: SideProfile = SideProfile.ALL
    """Which programs a side runs that is not parked."""

    @property
    def edge(self) -> Edge:
        """The edge."""
        return Edge(root=self.root / "edge", port=self.port)

    @property
    def sides(self) -> Sequence[Side]:
        """Both sides, with the code that they were last given."""
        return [self.side(name) for name in SIDES]

    @property
    def by_name(self) -> Mapping[str, Side]:
        """Both sides."""
        return {side.name: side for side in self.sides}

    def side(self, name: str) -> Side:
        """One side, with the code that it was last given."""
        fresh = Side(
            root=self.root / name,
            port=self.port + _FIRST_SIDE + SIDES.index(name) * _BETWEEN,
            partitions=self.partitions,
            name=name,
            shared=Shared(folder=self.root, store_url=self.edge.store_url),
        )
        try:
            return replace(fresh, code=Side.load(fresh.root).code)
        except NoSideError:
            return fresh

    @property
    def description(self) -> Path:
        """The file by which other commands find the twins."""
        return self.root / "twins.json"

    def create(self) -> None:
        """Make the folders and write the description, by which the folder is known as hifi's, first."""
        self.root.mkdir(parents=True, exist_ok=True)
        described = _Description(port=self.port, partitions=self.partitions, profile=self.profile)
        write_whole(self.description, msgspec.json.encode(described))
        self.edge.create()

    @classmethod
    def load(cls, root: Path) -> "Twins":
        """The twins that were started in a folder.

        Raises:
            NoTwinsError: if there are none, or their description cannot be read.
        """
        path = root.resolve() / "twins.json"
        try:
            found = msgspec.json.decode(path.read_bytes(), type=_Description)
        except FileNotFoundError as error:
            raise NoTwinsError(
                f"no twins in {root}: start them with `hifi up --twins --data {root}`"
            ) from error
        except (OSError, ValueError) as error:
            raise NoTwinsError(
                f"{path} cannot be read: {error}; remove it, then `hifi up --twins`"
            ) from error
        return cls(root=root.resolve(), port=found.port, partitions=found.partitions, profile=found.profile)


def are_twins(root: Path) -> bool:
    """Whether twins were started in a folder."""
    return (root / "twins.json").exists()


def check_folder(twins: Twins) -> None:
    """Make the folder of twins, unless it holds files that are not hifi's.

    Raises:
        DataFolderError: if it does, is that of a side, or cannot be used.
    """
    check_twins_folder(twins.root, own=are_twins(twins.root) or twins.edge.state.exists())
