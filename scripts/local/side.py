"""A local side: its folders and ports, its code, and the file that describes it."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import msgspec

from scripts.local.addresses import HOST, Addresses
from scripts.local.folders import Folders
from scripts.local.whole_file import write_whole
from shared.contracts.egress_policy import EgressPolicy
from shared.contracts.side_weights import LOCAL
from shared.runtime.errors import OperatorError

REACH: Final = EgressPolicy(loopback=True)
"""Addresses a local side may dial: its destinations are mostly on the same machine."""


class NoSideError(OperatorError):
    """No side was started in a folder, or its description cannot be read."""


DATA_FOLDER: Final = Path(".hifi")
"""Folder of a side where no other is named."""

LIGHT: Final = "light"
"""Link in a folder with twins, to the folder of the side with the most traffic."""

DEFAULT_PARTITIONS: Final = max(1, (os.cpu_count() or 2) // 2)
"""Partitions of each busy topic. Each costs requests, tasks and wake-ups at any load: on two cores, one
partition carries more than two do."""


@dataclass(frozen=True, kw_only=True)
class Shared:
    """The common part of two sides: the table of documents, access to it, and secrets."""

    folder: Path
    """Holds the operator's token and the secrets."""

    store_url: str
    """Endpoint of the store."""


@dataclass(frozen=True, kw_only=True)
class Code:
    """The code that a side runs."""

    version: str
    source: Path | None = None
    """Folder of the code; None is the checkout that runs this command."""


@dataclass(frozen=True, kw_only=True)
class Side(Folders, Addresses):
    """Folders below `root`, ports from `port` on."""

    partitions: int = DEFAULT_PARTITIONS
    name: str = LOCAL
    shared: Shared | None = None
    """The parts that one of two sides shares with the other; None for a side by itself."""

    standby: bool = False
    """Whether a second Spark driver waits to take over."""

    workers: int = 0
    """Spark workers that it starts with. Without any the driver runs all tasks itself."""

    code: Code | None = None
    """None is the checkout that runs this command, without a name."""

    @property
    def store_url(self) -> str:
        """Endpoint of the store."""
        return self.shared.store_url if self.shared else f"http://{HOST}:{self.store_port}"

    @property
    def token_file(self) -> Path:
        """The operator's token of the management API, made at the first start."""
        return (self.shared.folder if self.shared else self.root) / "operator.token"

    @property
    def checkpoints(self) -> Path:
        """Folder of the Spark queries' checkpoints."""
        return self.root / "checkpoints"

    @property
    def spark_ready(self) -> Path:
        """Written by the Spark driver, with its pid in it, once all its queries process data."""
        return self.run / "spark.ready"

    @property
    def secrets(self) -> Path:
        """File of secrets, unless HIFI_SECRETS names another."""
        return (self.shared.folder if self.shared else self.root) / "secrets.yaml"

    @property
    def standby_ready(self) -> Path:
        """The same of the second Spark driver, which is the one at work after it has taken over."""
        return self.run / "spark_standby.ready"

    @property
    def spark_configuration(self) -> Path:
        """Folder of the configuration of Spark's master, workers and drivers, generated at each start."""
        return self.root / "spark"

    @property
    def executors(self) -> Path:
        """Folder in which workers start executors."""
        return self.temporary / "executors"

    @property
    def spark_warm(self) -> Path:
        """Written by a Spark driver, with its pid in it, while it waits to take over from another one."""
        return self.run / "spark.warm"

    def broker_folder(self, broker: int) -> Path:
        """Folder of a broker's configuration and log."""
        return self.root / "brokers" / str(broker)

    @property
    def description(self) -> Path:
        """The file by which other commands find the side."""
        return self.root / "side.json"

    def create(self) -> None:
        """Make the folders and write the description, by which the folder is known as hifi's, first."""
        self.root.mkdir(parents=True, exist_ok=True)
        text = msgspec.json.format(msgspec.json.encode(self._description()))
        write_whole(self.description, text + b"\n")
        super().create()
        self.checkpoints.mkdir(exist_ok=True)

    def _description(self) -> "_Description":
        shared, code = self.shared, self.code
        return _Description(
            port=self.port,
            partitions=self.partitions,
            name=self.name,
            standby=self.standby,
            workers=self.workers,
            shared_folder=str(shared.folder) if shared else None,
            store_url=shared.store_url if shared else None,
            version=code.version if code else None,
            source=str(code.source) if code and code.source else None,
        )

    @classmethod
    def load(cls, root: Path) -> "Side":
        """The side that was started in a folder; of a folder with twins the one with the most traffic.

        Raises:
            NoSideError: if there is none, or its description cannot be read.
        """
        root = root.resolve()
        path = root / "side.json"
        if not path.exists() and (root / LIGHT).exists():
            return cls.load(root / LIGHT)
        try:
            return msgspec.json.decode(path.read_bytes(), type=_Description).side(root)
        except FileNotFoundError as error:
            raise NoSideError(f"no side in {root}: start one with `hifi up --data {root}`") from error
        except (OSError, ValueError) as error:
            raise NoSideError(
                f"{path} cannot be read: {error}; remove it, then start the side with `hifi up`"
            ) from error

    def environment(self) -> dict[str, str]:
        """Environment variables of every process of the side."""
        return {
            "HIFI_BOOTSTRAP": self.bootstrap,
            "HIFI_SIDE": self.name,
            "HIFI_ALLOW_LOOPBACK": str(REACH.loopback).lower(),
            "HIFI_SECRETS": str(Path(os.environ.get("HIFI_SECRETS") or self.secrets).resolve()),
            "TMPDIR": str(self.temporary),
            **({"PYTHONPATH": str(self.code.source)} if self.code and self.code.source else {}),
        }


class _Description(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A side as its file describes it."""

    port: int
    partitions: int
    name: str = LOCAL
    standby: bool = False
    workers: int = 0
    shared_folder: str | None = None
    store_url: str | None = None
    version: str | None = None
    source: str | None = None

    def side(self, root: Path) -> Side:
        """The side in a folder."""
        found = Side(
            root=root,
            port=self.port,
            partitions=self.partitions,
            name=self.name,
            standby=self.standby,
            workers=self.workers,
        )
        if self.shared_folder is not None and self.store_url is not None:
            shared = Shared(folder=Path(self.shared_folder), store_url=self.store_url)
            found = replace(found, shared=shared)
        if self.version is not None:
            source = Path(self.source) if self.source else None
            found = replace(found, code=Code(version=self.version, source=source))
        return found
