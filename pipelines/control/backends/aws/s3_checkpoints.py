"""The checkpoints of a side on S3."""

from collections.abc import Iterator, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from shared.contracts.replay_range import REPLAY_FILE
from shared.dynamodb.client import error_code


class S3Checkpoints:
    """A CheckpointStore of `pipelines/control/backends/checkpoints.py`."""

    def __init__(self, s3: Any, bucket: str, side: str) -> None:
        """`s3` is a client; the side has a folder of the bucket."""
        self._s3, self._bucket, self._side = s3, bucket, side

    def numbers(self, query: str, log: str) -> set[int]:
        """Numbers that are names of files in a folder of a query's checkpoint."""
        names = (key.rpartition("/")[2] for key in self._keys(f"{self._side}/{query}/{log}/"))
        return {int(name) for name in names if name.isdigit()}

    def read(self, query: str, file: str) -> bytes | None:
        """The content of a file of a query's checkpoint; None if it is not there."""
        try:
            reply = self._s3.get_object(Bucket=self._bucket, Key=f"{self._side}/{query}/{file}")
            return bytes(reply["Body"].read())
        except (BotoCoreError, ClientError) as error:
            if error_code(error) == "NoSuchKey":
                return None
            raise OSError(f"checkpoint of {query} of {self._side} cannot be read: {error}") from error

    def replace(self, query: str, files: Mapping[str, bytes]) -> None:
        """Let a query's checkpoint consist of these files alone.

        S3 has no rename: the old files go first, so that a call that breaks off leaves no checkpoint that a
        query could begin with in between. What is replayed is still known then.
        """
        folder = f"{self._side}/{query}/"
        kept = {f"{folder}{name}" for name in files if name == REPLAY_FILE}
        try:
            for key in [key for key in self._keys(folder) if key not in kept]:
                self._s3.delete_object(Bucket=self._bucket, Key=key)
            for name, content in files.items():
                self._s3.put_object(Bucket=self._bucket, Key=f"{folder}{name}", Body=content)
        except (BotoCoreError, ClientError) as error:
            raise OSError(f"checkpoint of {query} of {self._side} cannot be written: {error}") from error

    def _keys(self, prefix: str) -> Iterator[str]:
        try:
            pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
            for page in pages:
                yield from (each["Key"] for each in page.get("Contents", []))
        except (BotoCoreError, ClientError) as error:
            raise OSError(f"{prefix} of {self._bucket} cannot be listed: {error}") from error
