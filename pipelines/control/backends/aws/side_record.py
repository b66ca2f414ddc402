"""The deployer's record of a side, in a ConfigMap of its cluster: the version, and the fence.

Each write names the `resourceVersion` that was read. So of two deployers one writes first, and the other
learns that before it changes anything.
"""

from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from pipelines.control.backends.aws.kube_api import KubeApi
from pipelines.control.deploy.backend import FencedError

NAMESPACE: Final = "hifi"
PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
_NAME: Final = "deployer"
_FOLDER: Final = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
_FIELD: Final = "record"


class SideRecord(Struct, frozen=True, kw_only=True):
    """A side's version, whether it is parked, and the highest fence that has claimed it."""

    fence: int = 0
    version: str = ""
    """The version that was applied as a whole, last."""

    coming: str = ""
    """The version that is being applied; empty if none is."""

    parked: bool = True
    """Whether it is parked, or being parked."""

    since_ms: int = 0
    """When the version was started, epoch milliseconds: the first try, if one broke off."""

    paths: list[str] = []
    """API paths of the version's objects, and of a version that is coming, until it is applied as a whole."""


class Held(NamedTuple):
    """A record, and which state of the ConfigMap it is."""

    record: SideRecord
    state: str
    """Its `resourceVersion`; empty if it is not there."""


class SideRecords:
    """The record of one side. Methods raise BackendError."""

    def __init__(self, kube: KubeApi) -> None:
        """`kube` is the side's cluster."""
        self._kube = kube

    def read(self) -> Held:
        """The record now."""
        found = self._kube.get(f"{_FOLDER}/{_NAME}")
        if found is None:
            return Held(SideRecord(), "")
        record = msgspec.json.decode(found["data"][_FIELD], type=SideRecord)
        return Held(record, found["metadata"]["resourceVersion"])

    def claim(self, fence: int) -> SideRecord:
        """The record, with this fence in it.

        Raises:
            FencedError: if a higher one is.
        """
        held = self.read()
        if fence < held.record.fence:
            raise FencedError(f"fence {fence} is over: {held.record.fence} was seen")
        if fence == held.record.fence and held.state:
            return held.record
        return self._write(held, replace(held.record, fence=fence))

    def write(self, record: SideRecord) -> None:
        """Write what was claimed, and changed since.

        Raises:
            FencedError: if another deployer has claimed the side.
        """
        held = self.read()
        if record.fence < held.record.fence:
            raise FencedError(f"fence {record.fence} is over: {held.record.fence} was seen")
        if record != held.record:
            self._write(held, record)

    def _write(self, held: Held, record: SideRecord) -> SideRecord:
        manifest: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": _NAME, "namespace": NAMESPACE},
            "data": {_FIELD: msgspec.json.encode(record).decode()},
        }
        if held.state:
            manifest["metadata"]["resourceVersion"] = held.state
            self._kube.replace(f"{_FOLDER}/{_NAME}", manifest)
        else:
            self._kube.create(_FOLDER, manifest)
        return record
