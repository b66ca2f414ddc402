"""Asks a version's own image whether it reads what a side has written: a job in the side's cluster.

A version brings a CronJob that never runs by the clock, as `kubectl create job --from` expects it. The
deployer makes a job of it for a version; the answer is the termination message of its container.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

import msgspec

from pipelines.control.backends.aws import workloads
from pipelines.control.backends.aws.kube_api import KubeApi
from pipelines.control.backends.aws.manifest import Manifest
from pipelines.control.backends.aws.side_record import NAMESPACE, PODS
from pipelines.control.deploy.backend import BackendError
from pipelines.control.readability.answer import BROKERS_SILENT, POSITIONS, READS_ALL, Answer, Reading
from shared.runtime.program_output import last_line

_JOBS: Final = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"

QueryPositions = Mapping[str, Mapping[str, int]]
"""The offset of the next record, by streaming query and `topic/partition`."""


class Questions:
    """Asks versions whether they read what one side has written. Methods raise BackendError."""

    def __init__(self, kube: KubeApi, side: str) -> None:
        """`kube` is the side's cluster."""
        self._kube, self._side = kube, side

    def ask(self, version: str, manifests: Sequence[Manifest], positions: QueryPositions) -> Answer | None:
        """A version's answer about what the side has written; None while it reads.

        An answer is kept for two minutes; then the version reads again.

        Args:
            version: its name.
            manifests: what it consists of on this side.
            positions: where the side's queries stand, if it is to go on from there.

        Raises:
            BackendError: if it cannot be asked now; the next call asks it anew.
        """
        template = _template(manifests)
        if template is None:  # it is older than the question
            return READS_ALL
        name = _job_name(version)
        job = self._kube.get(f"{_JOBS}/{name}")
        if job is None:
            self._begin(_job(name, version, template, positions), manifests)
            return None
        if "deletionTimestamp" in job["metadata"] or not workloads.has_ended(job):
            return None
        return self._answer(version, job)

    def _begin(self, job: Manifest, manifests: Sequence[Manifest]) -> None:
        """Apply what its pod names, then the job: the version may never have been here."""
        named = _named_by(job["spec"]["template"]["spec"])
        for each in manifests:
            if (each["kind"], each["metadata"]["name"]) in named:
                self._kube.apply(each)
        self._kube.apply(job)

    def _answer(self, version: str, job: Manifest) -> Answer:
        name = job["metadata"]["name"]
        ends = [end for pod in self._pods(name) if (end := _end(pod)) is not None]
        done = [end for end in ends if end["exitCode"] == 0]
        if done:
            return Answer(_decoded(version, self._side, str(done[0].get("message", ""))))
        refusals = [end for end in ends if end["exitCode"] != BROKERS_SILENT]
        if workloads.has_failed(job) and refusals:
            return Answer(None, _last_words(refusals[-1]))
        self._kube.delete(f"{_JOBS}/{name}")
        raise BackendError(
            f"{version} could not be asked what it reads of {self._side}: {_reason(job, ends)}"
        )

    def _pods(self, job: str) -> Sequence[Manifest]:
        found = self._kube.list(PODS, f"{workloads.OURS},batch.kubernetes.io/job-name={job}")
        return sorted(found, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))


def _template(manifests: Sequence[Manifest]) -> Manifest | None:
    wanted = ("CronJob", workloads.READABILITY)
    return next((each for each in manifests if (each["kind"], each["metadata"]["name"]) == wanted), None)


def _job_name(version: str) -> str:
    """The name of a version's job: unlike a version's, at most 63 characters, none of them in capitals."""
    return f"{workloads.READABILITY}-{sha256(version.encode()).hexdigest()[:12]}"


def _job(name: str, version: str, template: Manifest, positions: QueryPositions) -> Manifest:
    spec: dict[str, Any] = template["spec"]["jobTemplate"]["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    asked = {"name": POSITIONS, "value": msgspec.json.encode(positions).decode()}
    container = container | {"env": [*container.get("env", []), asked]}
    pod = spec["template"] | {"spec": spec["template"]["spec"] | {"containers": [container]}}
    metadata = {
        "name": name,
        "namespace": NAMESPACE,
        "labels": template["metadata"].get("labels", {}),
        "annotations": {workloads.VERSION: version},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": spec | {"template": pod},
    }


def _end(pod: Manifest) -> Manifest | None:
    """How a pod's container ended; None if it was never started, or runs."""
    states = pod.get("status", {}).get("containerStatuses", [])
    return next((each["state"]["terminated"] for each in states if "terminated" in each["state"]), None)


def _last_words(end: Manifest) -> str:
    message = str(end.get("message", ""))
    return last_line(message) if message.strip() else f"{end.get('reason')}, exit status {end['exitCode']}"


def _named_by(pod: Manifest) -> set[tuple[str, str]]:
    """The account of a pod, and the ConfigMaps of its environment, by kind and name."""
    (container,) = pod["containers"]
    maps = [each["configMapRef"]["name"] for each in container.get("envFrom", []) if "configMapRef" in each]
    return {("ServiceAccount", pod["serviceAccountName"]), *(("ConfigMap", name) for name in maps)}


def _decoded(version: str, side: str, message: str) -> Reading:
    try:
        return msgspec.json.decode(last_line(message), type=Reading)
    except msgspec.DecodeError as error:
        raise BackendError(f"{version} does not say what it reads of {side}: {message[:200]!r}") from error


def _reason(job: Manifest, ends: Sequence[Manifest]) -> str:
    if ends:
        return _last_words(ends[-1])
    conditions = job.get("status", {}).get("conditions", [])
    return "; ".join(str(each.get("reason", each["type"])) for each in conditions) or "its pods are gone"
