"""The API of a side's cluster in memory: each workload has one pod, and pods end when a test says so."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipelines.control.backends.aws.kube_api import KubeApi
from pipelines.control.backends.aws.manifest import Manifest
from pipelines.control.backends.aws.workloads import NAME, OURS, PAUSED
from pipelines.control.deploy.backend import BackendError


class FakeKube(KubeApi):
    """As much of it as `SideCode` asks of code that runs already."""

    def __init__(self, *names: str, scaled: Iterable[str] = ()) -> None:
        """Workloads by their names; ScaledObjects of those that are `scaled`."""
        self.replicas, self.pods = dict.fromkeys(names, 1), [*names]
        self.annotations: dict[str, dict[str, str]] = {name: {} for name in scaled}
        self.answers: dict[str, bytes] = {}
        """By `name/path`, what a pod answers."""

        self.asked: Sequence[str] = ()
        self._record: Manifest | None = None

    @property
    def stopped(self) -> set[str]:
        """The workloads that were scaled to zero."""
        return {name for name, replicas in self.replicas.items() if not replicas}

    @property
    def paused(self) -> set[str]:
        """The workloads that KEDA would scale to zero."""
        return {name for name, found in self.annotations.items() if found.get(PAUSED) == "0"}

    def end(self, *names: str) -> None:
        """Let pods end."""
        self.pods = [each for each in self.pods if each not in names]

    def get(self, path: str) -> Manifest | None:
        assert path.endswith("/configmaps/deployer")
        return self._record

    def create(self, path: str, manifest: Manifest) -> None:
        self.replace(path, manifest)

    def replace(self, path: str, manifest: Manifest) -> None:
        self._record = manifest | {"metadata": manifest["metadata"] | {"resourceVersion": "1"}}

    def list(self, path: str, selector: str) -> Sequence[Manifest]:
        assert selector == OURS
        found = {
            "pods": [_pod(name) for name in self.pods],
            "deployments": [_workload(name, replicas) for name, replicas in self.replicas.items()],
            "scaledobjects": [_scaler(name) for name in self.annotations],
        }
        return found.get(path.rpartition("/")[2], [])

    def merge(self, path: str, change: Mapping[str, Any]) -> None:
        _, kind, name = path.rsplit("/", 2)
        if kind == "scaledobjects":
            self.annotations[name] |= change["metadata"]["annotations"]
        else:
            self.replicas[name] = change["spec"]["replicas"]

    def content(self, path: str) -> bytes:
        name = path.partition("/pods/")[2].replace(":8080/proxy", "").partition("?")[0]
        self.asked = [*self.asked, name]
        if name not in self.answers:
            raise BackendError(f"GET {path}: there is no such thing")
        return self.answers[name]


def _pod(name: str) -> Manifest:
    return {
        "metadata": {"name": name, "labels": {NAME: name}},
        "spec": {"containers": [{"ports": [{"name": "http", "containerPort": 8080}]}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _workload(name: str, replicas: int) -> Manifest:
    return {"metadata": {"name": name, "labels": {NAME: name}}, "spec": {"replicas": replicas}}


def _scaler(name: str) -> Manifest:
    return {"metadata": {"name": name}, "spec": {"scaleTargetRef": {"name": name}}}
