"""The checkpoint folder of a Spark query, and the files beside it that outlive it when it is set aside."""

import json
from typing import Any, Final

from pyspark.sql import SparkSession

from shared.contracts.replay_range import (
    REPLAY_FILE,
    Offsets,
    ReplayRange,
    decode_replay_range,
    encode_replay_range,
)
from shared.runtime.clock import wall_clock
from shared.runtime.settings import SparkSettings

_LEFT_AT: Final = ".left-at.json"
"""The end of the name of the file beside a checkpoint with offsets from before it was set aside."""

_LEFT_REPLAY: Final = ".left-replay.json"
"""The end of the name of the file with the replay that it had not finished; not there without one."""


class Checkpoint:
    """The checkpoint folder of a query, on any of Hadoop's file systems."""

    def __init__(self, spark: SparkSession, settings: SparkSettings, node: str) -> None:
        self._jvm: Any = spark.sparkContext._jvm
        self._place = f"{settings.checkpoints}/{node}"
        configuration = spark.sparkContext._jsc.hadoopConfiguration()
        self._files = self._path("").getFileSystem(configuration)

    def offsets(self) -> Offsets:
        """Where the query would continue: after its last committed batch, or where it first started."""
        done = self._batches("offsets") & self._batches("commits")
        text = self._read(f"/offsets/{max(done)}") if done else self._read("/sources/0/0")
        found: Offsets = json.loads(text[text.rindex("\n{") :]) if text else {}
        return found

    def replay(self) -> ReplayRange | None:
        """Which of the records before it are marked as processed again.

        Raises:
            msgspec.MsgspecError: if the file that says it cannot be decoded.
        """
        return _replay(self._read(f"/{REPLAY_FILE}"))

    def left_at(self) -> Offsets:
        """Where the query goes on after its checkpoint was set aside, until it has a new one; else empty."""
        found: Offsets = json.loads(self._read(_LEFT_AT) or "{}")
        return found

    def left_replay(self) -> ReplayRange | None:
        """The replay of the checkpoint that was set aside."""
        return _replay(self._read(_LEFT_REPLAY))

    def set_aside(self, usable: Offsets, replay: ReplayRange | None) -> None:
        """Rename the folder, so that the query starts without a checkpoint, at these offsets.

        Offsets and replay are written first, and read only once the folder is gone. So a query that ends
        before Spark has written its first offsets still starts at them, and not at the beginning of each
        partition.

        Raises:
            OSError: if the folder could not be renamed.
        """
        if replay is None:
            self._files.delete(self._path(_LEFT_REPLAY), False)
        else:
            self._write(_LEFT_REPLAY, encode_replay_range(replay))
        self._write(_LEFT_AT, json.dumps(usable).encode())
        expired = self._path(f".expired-{wall_clock()}")
        if not self._files.rename(self._path(""), expired):
            raise OSError(f"{self._place} could not be renamed to {expired}")

    def begin_with(self, replay: ReplayRange) -> None:
        """Give a replay to the checkpoint that Spark is about to make."""
        self._write(f"/{REPLAY_FILE}", encode_replay_range(replay))

    def _path(self, below: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._place + below)

    def _batches(self, log: str) -> set[int]:
        folder = self._path(f"/{log}")
        if not self._files.exists(folder):
            return set()
        names = {status.getPath().getName() for status in self._files.listStatus(folder)}
        return {int(name) for name in names if name.isdigit()}

    def _read(self, below: str) -> str:
        path = self._path(below)
        if not self._files.exists(path):
            return ""
        stream = self._files.open(path)
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def _write(self, below: str, content: bytes) -> None:
        stream = self._files.create(self._path(below), True)
        stream.write(content)
        stream.close()


def _replay(text: str) -> ReplayRange | None:
    return decode_replay_range(text) if text else None
