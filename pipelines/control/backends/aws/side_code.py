"""Applies a version to a side's cluster, and scales it to zero.

Each call does what is left to do and returns: the cluster goes on by itself, and remembers. So any process
can go on where another one died.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from pipelines.control.backends.aws import pruning, workloads
from pipelines.control.backends.aws.kube_api import KubeApi
from pipelines.control.backends.aws.manifest import Manifest
from pipelines.control.backends.aws.questions import Questions
from pipelines.control.backends.aws.side_record import NAMESPACE, PODS, SideRecord, SideRecords
from pipelines.control.backends.aws.versions import VersionStore
from pipelines.control.deploy.backend import BackendError, Deployed, Readiness
from shared.contracts.canary_pause import PAUSE_PATH
from shared.runtime.clock import Clock

_APPS: Final = f"/apis/apps/v1/namespaces/{NAMESPACE}"
_SCALED: Final = f"/apis/keda.sh/v1alpha1/namespaces/{NAMESPACE}/scaledobjects"
_FENCE: Final = "hifi/fence"


class SideCode:
    """The code of one side. Methods raise BackendError; those with a fence FencedError."""

    def __init__(self, kube: KubeApi, versions: VersionStore, side: str, clock: Clock) -> None:
        """`kube` is the side's cluster."""
        self._kube, self._versions, self._side, self._clock = kube, versions, side, clock
        self._records = SideRecords(kube)
        self.questions = Questions(kube, side)
        """Asks a version before it is started here."""

    def claim(self, fence: int) -> SideRecord:
        """Keep deployers with a lower fence away from now on."""
        return self._records.claim(fence)

    def deployed(self) -> Deployed:
        """The side's code. While a version is being applied none runs as a whole: its name is empty."""
        record = self._records.read().record
        if record.coming:
            return Deployed(version="", parked=False)
        return Deployed(version=record.version, parked=record.parked and not workloads.code(self.pods()))

    def ran(self) -> str:
        """The version that has written what the side holds, as far as one name says it; empty if none ran."""
        record = self._records.read().record
        return record.version or record.coming

    def start(self, version: str, fence: int) -> None:
        """Apply a version. If it is applied already and no job of it failed, only wake what was put to rest:
        the deployer that put it to rest may have learned late that another one leads."""
        record = self.claim(fence)
        found = self._versions.manifests(version, self._side)
        applied = record.version == version and not record.parked and not record.coming
        if applied and not self._failed_jobs(record):
            self._wake(found or (), fence)
            return
        if found is None:
            raise BackendError(f"there is no version {version} of {self._side}")
        paths = [self._kube.path(each) for each in found]
        # With its own: if this start breaks off, the next one of any version deletes what it has left.
        known = sorted({*record.paths, *paths})
        # A start that broke off may have made pods, which the next one does not touch: their crashes count.
        since_ms = record.since_ms if record.coming == version else self._clock()
        record = replace(record, coming=version, since_ms=since_ms, parked=False, paths=known)
        self._records.write(record)
        self._delete(pruning.deleted_first(known, paths), fence)
        self._apply(version, found, fence)
        self._delete(pruning.deleted_last(known, paths), fence)
        self._records.write(replace(record, version=version, coming="", paths=paths))

    def park(self, fence: int) -> None:
        """Begin to stop all code, or go on with it: one stage after the other, see `next_to_stop`.

        As in `start`, the fence is looked at before each change: a deployer that was suspended between two of
        them must not put to rest what another one has woken.
        """
        record = self.claim(fence)
        if not record.parked or record.coming:
            record = replace(record, parked=True, coming="", version=record.version or record.coming)
            self._records.write(record)
        found = self.workloads()
        ending = workloads.next_to_stop(found, self.pods())
        # First the autoscalers, or they would scale up again.
        for each in workloads.scalers_to_pause(self._kube.list(_SCALED, workloads.OURS), found, ending):
            self._pause_scaling(each["metadata"]["name"], "0", fence)
        for each in ending:
            self._scale(each, 0, fence)

    def readiness(self) -> Readiness:
        """Whether the side could take traffic."""
        record = self._records.read().record
        if record.coming or record.parked:
            text = f"{record.coming} is being applied" if record.coming else "none of its code runs"
            return Readiness(ready=False, waiting_for=(text,))
        jobs = [f"job {name} failed" for name in self._failed_jobs(record)]
        found = (*jobs, *workloads.waiting_for(self.workloads()))
        crashes = workloads.crashes(self.pods(), record.since_ms)
        return Readiness(ready=not found, waiting_for=found, crashes=crashes)

    def pause_canary(self, seconds: int, fence: int) -> None:
        """Let the side's canary send nothing for so many seconds, if its code runs."""
        if not self.claim(fence).parked:
            self._kube.put(self._proxied(workloads.CANARY, PAUSE_PATH), str(seconds))

    def ask(self, name: str, path: str) -> bytes:
        """The answer of a program of the side to GET `path`."""
        return self._kube.content(self._proxied(name, path))

    def _proxied(self, name: str, path: str) -> str:
        """Where a program of the side is reached: through the API's proxy, which every side has."""
        ready = [each for each in self.pods() if workloads.name_of(each) == name and workloads.is_ready(each)]
        if not ready:
            raise BackendError(f"{name} of {self._side} has no pod that is ready")
        pod = f"{ready[0]['metadata']['name']}:{workloads.http_port(ready[0])}"
        return f"{PODS}/{pod}/proxy{path}"

    def pods(self) -> Sequence[Manifest]:
        """The side's pods that have not ended: the ended pod of a job is not running code."""
        found = self._kube.list(PODS, workloads.OURS)
        return [each for each in found if each.get("status", {}).get("phase") not in ("Succeeded", "Failed")]

    def workloads(self) -> Sequence[Manifest]:
        """All that have pods for long."""
        kinds = ("deployments", "statefulsets")
        return [each for kind in kinds for each in self._list(kind)]

    def _list(self, kind: str) -> Sequence[Manifest]:
        return [each | {"_path": f"{_APPS}/{kind}/{each['metadata']['name']}"} for each in self._found(kind)]

    def _found(self, kind: str) -> Sequence[Manifest]:
        return self._kube.list(f"{_APPS}/{kind}", workloads.OURS)

    def takes_events(self) -> bool:
        """Whether any pod of collect is ready."""
        ready = (workloads.name_of(each) for each in self.pods() if workloads.is_ready(each))
        return workloads.COLLECT in ready

    def _scale(self, workload: Manifest, replicas: int, fence: int) -> None:
        self.claim(fence)
        self._kube.merge(workload["_path"], {"spec": {"replicas": replicas}})

    def _pause_scaling(self, scaler: str, replicas: str | None, fence: int) -> None:
        """At so many replicas; None ends it."""
        self.claim(fence)
        self._kube.merge(f"{_SCALED}/{scaler}", {"metadata": {"annotations": {workloads.PAUSED: replicas}}})

    def _apply(self, version: str, found: Sequence[Manifest], fence: int) -> None:
        for each in workloads.in_order(found):
            self.claim(fence)
            if each["kind"] == "Job":
                self._remove_ended_job(version, each)
            marked = _annotated(each, {_FENCE: str(fence), workloads.VERSION: version})
            self._kube.apply(marked)
        self._wake(found, fence)

    def _wake(self, found: Sequence[Manifest], fence: int) -> None:
        """Give each workload its least number of pods, and end all pauses of autoscalers."""
        least = workloads.least_replicas(found)
        for each in self.workloads():
            wanted = least.get(each["metadata"]["name"])
            if wanted is not None and each["spec"].get("replicas", 0) < wanted:
                self._scale(each, wanted, fence)
        for each in self._kube.list(_SCALED, workloads.OURS):
            if each["metadata"].get("annotations", {}).get(workloads.PAUSED) is not None:
                self._pause_scaling(each["metadata"]["name"], None, fence)

    def _failed_jobs(self, record: SideRecord) -> Sequence[str]:
        found = [self._kube.get(path) for path in record.paths if "/jobs/" in path]
        return [each["metadata"]["name"] for each in found if each and workloads.has_failed(each)]

    def _remove_ended_job(self, version: str, job: Manifest) -> None:
        """One of another version, as a job's pod cannot be changed; one that failed, as it runs no more."""
        path = self._kube.path(job)
        old = self._kube.get(path)
        if old is None:
            return
        same = old["metadata"].get("annotations", {}).get(workloads.VERSION) == version
        if same and not workloads.has_failed(old):
            return
        self._kube.delete(path)
        if self._kube.get(path) is not None:
            raise BackendError(f"the former job {job['metadata']['name']} is still being deleted")

    def _delete(self, paths: Sequence[str], fence: int) -> None:
        for path in paths:
            self.claim(fence)
            self._kube.delete(path)


def _annotated(manifest: Manifest, added: Mapping[str, str]) -> Manifest:
    metadata: dict[str, Any] = manifest["metadata"]
    return manifest | {"metadata": metadata | {"annotations": metadata.get("annotations", {}) | dict(added)}}
