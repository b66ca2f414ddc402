"""The API of a side's cluster in memory: each workload has one pod, and pods end when a test says so."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pipelines.control.backends.aws.kube_api import KubeApi
from pipelines.control.backends.aws.manifest import Manifest
from pipelines.control.backends.aws.side_record import NAMESPACE
from pipelines.control.backends.aws.workloads import NAME, OURS, PAUSED
from pipelines.control.deploy.backend import BackendError

_TARGETS: Final = {"ScaledObject": "scaleTargetRef", "TargetGroupBinding": "targetGroupARN"}
"""The field of `spec` that names the target, by kind; a target may have only one of each kind."""


class FakeKube(KubeApi):
    """The part of the Kubernetes API that `SideCode` uses; scaled workloads have their pods at once."""

    def __init__(self, *names: str, scaled: Iterable[str] = ()) -> None:
        """Workloads by their names; ScaledObjects of those that are `scaled`."""
        self.objects: dict[str, Manifest] = {}
        """Manifests by path."""

        self.pods: list[str] = []
        self._ended: dict[str, Manifest] = {}
        self.answers: dict[str, bytes] = {}
        """Answers of pods, by `name/path`."""

        self.asked: Sequence[str] = ()
        for each in (*map(deployment, names), *(scaler(name, name) for name in scaled)):
            self.apply(each)

    @property
    def stopped(self) -> set[str]:
        """The workloads that were scaled to zero."""
        return {_name(each) for each in self._of("deployments") if not each["spec"]["replicas"]}

    @property
    def jobs(self) -> Sequence[Manifest]:
        """The jobs that there are."""
        return self._of("jobs")

    @property
    def paused(self) -> set[str]:
        """The workloads that KEDA would scale to zero."""
        found = self._of("scaledobjects")
        return {_name(each) for each in found if each["metadata"]["annotations"].get(PAUSED) == "0"}

    def end(self, *names: str) -> None:
        """Let pods end."""
        self.pods = [each for each in self.pods if each not in names]

    def end_job(self, name: str, condition: str) -> None:
        """Let a job end: `Complete` or `Failed`."""
        status = {"conditions": [{"type": condition, "status": "True"}]}
        self.objects[self.path(job(name))]["status"] = status

    def answer_job(self, name: str, message: str, *, status: int = 0) -> None:
        """Let a job's only pod end with a message."""
        self.end_job(name, "Failed" if status else "Complete")
        end = {"exitCode": status, "reason": "Error" if status else "Completed", "message": message}
        self._ended[name] = _pod(name) | {
            "status": {"phase": "Failed", "containerStatuses": [{"state": {"terminated": end}}]}
        }

    def get(self, path: str) -> Manifest | None:
        return self.objects.get(path)

    def create(self, path: str, manifest: Manifest) -> None:
        self.replace(f"{path}/{_name(manifest)}", manifest)

    def replace(self, path: str, manifest: Manifest) -> None:
        self.objects[path] = manifest | {"metadata": manifest["metadata"] | {"resourceVersion": "1"}}

    def list(self, path: str, selector: str) -> Sequence[Manifest]:
        ours, _, job = selector.partition(",batch.kubernetes.io/job-name=")
        assert ours == OURS
        kind = path.rpartition("/")[2]
        if job:
            return [self._ended[job]] if job in self._ended else []
        return [_pod(name) for name in self.pods] if kind == "pods" else self._of(kind)

    def merge(self, path: str, change: Mapping[str, Any]) -> None:
        if path in self.objects:
            self.objects[path]["spec"] |= change.get("spec", {})
            self.objects[path]["metadata"]["annotations"] |= change.get("metadata", {}).get("annotations", {})

    def apply(self, manifest: Manifest) -> None:
        name, path = _name(manifest), self.path(manifest)
        if manifest["kind"] in _TARGETS:
            self._admit(path, manifest)
        old = self.objects.get(path, {"metadata": {}, "spec": {"replicas": 1}})
        metadata = old["metadata"] | manifest["metadata"]
        metadata["annotations"] = dict(manifest["metadata"].get("annotations", {}))
        spec = old["spec"] | manifest.get("spec", {})
        self.objects[path] = old | manifest | {"metadata": metadata, "spec": spec}
        if manifest["kind"] == "Deployment" and name not in self.pods:
            self.pods = [*self.pods, name]

    def delete(self, path: str) -> None:
        gone = self.objects.pop(path, None)
        if gone is not None and gone["kind"] == "Deployment":
            self.end(_name(gone))

    def path(self, manifest: Manifest) -> str:
        version, kind = manifest["apiVersion"], manifest["kind"].lower()
        root = "apis" if "/" in version else "api"
        return f"/{root}/{version}/namespaces/{NAMESPACE}/{kind}s/{_name(manifest)}"

    def content(self, path: str) -> bytes:
        name = path.partition("/pods/")[2].replace(":8080/proxy", "").partition("?")[0]
        self.asked = [*self.asked, name]
        if name not in self.answers:
            raise BackendError(f"GET {path}: there is no such thing")
        return self.answers[name]

    def _of(self, kind: str) -> Sequence[Manifest]:
        return [_seen(each) for path, each in self.objects.items() if path.rsplit("/", 2)[1] == kind]

    def _admit(self, path: str, manifest: Manifest) -> None:
        """Refuse a second object of a kind for one target, like the webhooks of KEDA and AWS's controller."""
        kind, field = manifest["kind"], _TARGETS[manifest["kind"]]
        others = {at: each for at, each in self.objects.items() if each["kind"] == kind and at != path}
        for at, each in others.items():
            if each["spec"][field] == manifest["spec"][field]:
                raise BackendError(f"the target of {path} is already managed by {at}")


def deployment(name: str) -> Manifest:
    """A workload as a version has it."""
    return _manifest("apps/v1", "Deployment", name, {})


def job(name: str) -> Manifest:
    """A job of a version."""
    return _manifest("batch/v1", "Job", name, {})


def scaler(name: str, workload: str) -> Manifest:
    """The autoscaler of a workload."""
    return _manifest("keda.sh/v1alpha1", "ScaledObject", name, {"scaleTargetRef": {"name": workload}})


def binding(name: str, target_group: str) -> Manifest:
    """The binding that registers pods in a target group."""
    return _manifest("elbv2.k8s.aws/v1beta1", "TargetGroupBinding", name, {"targetGroupARN": target_group})


def _manifest(version: str, kind: str, name: str, spec: Manifest) -> Manifest:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {NAME: name}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _name(manifest: Manifest) -> str:
    return str(manifest["metadata"]["name"])


def _seen(manifest: Manifest) -> Manifest:
    """Add the status of a workload with all pods ready."""
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas"), manifest["spec"].get("replicas"))
    status = {"observedGeneration": 1, **counts, **manifest.get("status", {})}
    return manifest | {"metadata": manifest["metadata"] | {"generation": 1}, "status": status}


def _pod(name: str) -> Manifest:
    return {
        "metadata": {"name": name, "labels": {NAME: name}, "creationTimestamp": "1970-01-01T00:00:00Z"},
        "spec": {"containers": [{"ports": [{"name": "http", "containerPort": 8080}]}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }
