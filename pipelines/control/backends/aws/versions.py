"""Manifests of the versions that a side can run, as a release has rendered and stored them.

`VERSION/SIDE.json` in the bucket is a JSON array of Kubernetes objects; what is stored once never changes. An
empty array, which a failed rendering may have left, is not a version: a side with it would run nothing.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from botocore.exceptions import ClientError

from pipelines.control.backends.aws.manifest import Manifest
from pipelines.control.backends.aws.side_brokers import with_brokers
from shared.dynamodb.client import error_code


def version_key(version: str, side: str) -> str:
    """Key of a version's manifests for a side."""
    return f"{version}/{side}.json"


class VersionStore:
    """Reads versions. Methods raise BotoCoreError and ClientError."""

    def __init__(self, s3: Any, bucket: str, brokers: Callable[[str], str] | None = None) -> None:
        """Nothing is read before the first call.

        Args:
            s3: a client.
            bucket: of the versions.
            brokers: those of a side, by its name: a version has them in place of those that are gone. Without
                it a version is as it was stored.
        """
        self._s3, self._bucket, self._brokers = s3, bucket, brokers
        self._read: dict[str, Sequence[Manifest]] = {}

    def manifests(self, version: str, side: str) -> Sequence[Manifest] | None:
        """The manifests of a version on a side; None if there is no such version."""
        key = version_key(version, side)
        if key not in self._read:
            try:
                content = self._s3.get_object(Bucket=self._bucket, Key=key)["Body"].read()
            except ClientError as error:
                if error_code(error) in ("NoSuchKey", "404"):
                    return None
                raise
            manifests = json.loads(content)
            if not manifests:
                return None
            if self._brokers is not None:
                manifests = with_brokers(manifests, self._brokers(side))
            self._read = {key: manifests}  # one at a time: they are large
        return self._read[key]
