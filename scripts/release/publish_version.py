"""Stores the manifests of a version: `... | python -m scripts.release.publish_version VERSION SIDE BUCKET`.

Reads what kustomize has rendered, and refuses nothing at all: it would be a version that no side can run. A
version that is stored already is left as it is if it is the same.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

import boto3
import yaml
from botocore.exceptions import ClientError

from pipelines.control.backends.aws.versions import VersionStore, version_key
from shared.dynamodb.client import error_code


class NotStoredError(Exception):
    """A version is not stored; the text says why, and what to do."""


class OtherVersionError(NotStoredError):
    """Another version of this name is stored."""


class EmptyVersionError(NotStoredError):
    """Nothing was rendered."""


def publish(s3: Any, bucket: str, version: str, side: str, rendered: str) -> None:
    """Store a version's manifests for a side.

    Raises:
        EmptyVersionError: it has no manifests.
        OtherVersionError: another version of this name is stored.
        botocore.exceptions.ClientError: S3 refused.
    """
    manifests = [each for each in yaml.safe_load_all(rendered) if each]
    if not manifests:
        raise EmptyVersionError(
            f"version {version} of {side} has no manifests, and is not stored: "
            f"`kubectl kustomize infra/workloads/overlays/{side}` shows why"
        )
    content = json.dumps(manifests).encode()
    try:
        # Only if there is none: a name means one version, whoever else stores it now.
        s3.put_object(Bucket=bucket, Key=version_key(version, side), Body=content, IfNoneMatch="*")
    except ClientError as error:
        if error_code(error) != "PreconditionFailed":
            raise
        stored = VersionStore(s3, bucket).manifests(version, side)
        if stored is None:  # a failed rendering was stored once
            place = f"s3://{bucket}/{version_key(version, side)}"
            raise OtherVersionError(
                f"version {version} of {side} is stored without manifests: delete {place}, or name another"
            ) from error
        if stored != manifests:
            raise OtherVersionError(
                f"another version {version} of {side} is stored: name this one anew"
            ) from error


def main(arguments: Sequence[str]) -> int:
    """Exit status of the process."""
    version, side, bucket = arguments
    try:
        publish(boto3.client("s3"), bucket, version, side, sys.stdin.read())
    except NotStoredError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
