"""Kubernetes' API server, controllers and scheduler over etcd; KWOK simulates nodes and pods."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import yaml

from pipelines.control.backends.aws.kube_api import KubeApi
from scripts.local.ports import free_base
from tests.harness.waiting import eventually

_CACHE: Final = "HIFI_KUBE_CACHE"
_ADMIN: Final = "administrator-of-the-test"
_SECONDS: Final = 120
_ZONES: Final = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
_POOLS: Final = ("services", "drivers", "workers")
_STAGES: Final = Path(__file__).with_name("stages.yaml")


def tools() -> Path:
    """The folder of the binaries, which `make kube-tools` builds."""
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get(_CACHE) or user / "hifi" / "kube") / "bin"


@contextmanager
def etcd(folder: Path) -> Iterator[str]:
    """A store for any number of clusters; yields its URL."""
    port = free_base()
    url, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}"
    command = ["etcd", "--name=test", f"--data-dir={folder / 'etcd'}", "--unsafe-no-fsync"]
    command += [f"--listen-client-urls={url}", f"--advertise-client-urls={url}"]
    command += [f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}"]
    with _running([*command, f"--initial-cluster=test={peer}"], folder):
        eventually(lambda: _says(f"{url}/health"), _SECONDS, "etcd answers")
        yield url


class ControlPlane:
    """One cluster."""

    def __init__(self, name: str, folder: Path, store: str, reviews: str, address: str) -> None:
        """Nothing runs before `running`.

        Args:
            name: of the cluster, and of its part of the store.
            folder: its own.
            store: URL of etcd.
            reviews: URL that names the owner of a token.
            address: that every pod has.
        """
        self.name, self.folder = name, folder
        self._store, self._reviews, self._address = store, reviews, address
        self.port = free_base()
        self.url = f"https://127.0.0.1:{self.port}"
        folder.mkdir(parents=True)

    @property
    def authority(self) -> str:
        """The certificate that signed the API's: its own."""
        return (self.folder / "api.crt").read_text()

    def admin(self) -> KubeApi:
        """The API, with all rights."""
        return KubeApi(self.url, self.authority, lambda: _ADMIN)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the control plane until the block ends."""
        self._write_files()
        with ExitStack() as ending:
            ending.enter_context(_running(self._api_command(), self.folder))
            api = self.admin()
            eventually(lambda: _ready(api), _SECONDS, f"the API of {self.name} is ready")
            for command in self._other_commands():
                ending.enter_context(_running(command, self.folder))
            for zone in _ZONES:
                for pool in _POOLS:
                    api.create("/api/v1/nodes", _node(zone, pool))
            yield

    def _write_files(self) -> None:
        folder = self.folder
        openssl = [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=api",
        ]
        names = "subjectAltName=IP:127.0.0.1,DNS:kubernetes.default.svc"
        files = ["-addext", names, "-keyout", f"{folder}/api.key", "-out", f"{folder}/api.crt"]
        subprocess.run([*openssl, *files], check=True, capture_output=True)
        subprocess.run(
            ["openssl", "genrsa", "-out", f"{folder}/sa.key", "2048"], check=True, capture_output=True
        )
        (folder / "tokens.csv").write_text(f'{_ADMIN},admin,admin,"system:masters"\n')
        self._kubeconfig("kubeconfig", {"server": self.url, "certificate-authority": f"{folder}/api.crt"})
        self._kubeconfig("reviews", {"server": self._reviews})
        (folder / "stages.yaml").write_text(_STAGES.read_text().replace("ADDRESS", self._address))

    def _kubeconfig(self, name: str, cluster: Mapping[str, str]) -> None:
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "it", "cluster": dict(cluster)}],
            "users": [{"name": "it", "user": {"token": _ADMIN}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "current-context": "it",
        }
        (self.folder / name).write_text(yaml.safe_dump(document))

    def _api_command(self) -> Sequence[str]:
        folder = self.folder
        flags = {
            "etcd-servers": self._store,
            "etcd-prefix": f"/{self.name}",
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "secure-port": self.port,
            "endpoint-reconciler-type": "none",
            "client-ca-file": folder / "api.crt",
            "tls-cert-file": folder / "api.crt",
            "tls-private-key-file": folder / "api.key",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": folder / "sa.key",
            "service-account-signing-key-file": folder / "sa.key",
            "token-auth-file": folder / "tokens.csv",
            "authentication-token-webhook-config-file": folder / "reviews",
            "authentication-token-webhook-version": "v1",
            "authorization-mode": "RBAC",
            "service-cluster-ip-range": "172.20.0.0/16",
        }
        return ["kube-apiserver", *(f"--{name}={value}" for name, value in flags.items())]

    def _other_commands(self) -> Iterator[Sequence[str]]:
        config = self.folder / "kubeconfig"
        own = [f"--kubeconfig={config}", f"--authentication-kubeconfig={config}"]
        own += [f"--authorization-kubeconfig={config}", "--bind-address=127.0.0.1", "--leader-elect=false"]
        controllers = "--controllers=*,-nodeipam,-node-route-controller,-cloud-node-lifecycle"
        key = f"--service-account-private-key-file={self.folder / 'sa.key'}"
        yield ["kube-controller-manager", *own, f"--secure-port={self.port + 1}", controllers, key]
        yield ["kube-scheduler", *own, f"--secure-port={self.port + 2}"]
        kwok = ["--manage-all-nodes=true", "--node-lease-duration-seconds=40", f"--node-ip={self._address}"]
        server = f"--server-address=127.0.0.1:{self.port + 3}"
        stages = f"--config={self.folder / 'stages.yaml'}"
        yield ["kwok", f"--kubeconfig={config}", stages, "--cidr=10.244.0.0/16", server, *kwok]


@contextmanager
def _running(command: Sequence[str], folder: Path) -> Iterator[None]:
    program = tools() / command[0]
    assert shutil.which(str(program)), f"no {program}: make kube-tools builds it"
    with (folder / f"{command[0]}.log").open("wb") as log:
        process = subprocess.Popen([program, *command[1:]], stdout=log, stderr=log, cwd=folder)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _says(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2, trust_env=False).is_success
    except httpx.HTTPError:
        return False


def _ready(api: KubeApi) -> bool:
    try:
        return api.content("/readyz") == b"ok"
    except Exception:  # it is asked again
        return False


def _node(zone: str, pool: str) -> dict[str, Any]:
    name = f"{pool}-{zone}"
    labels = {
        "hifi/pool": pool,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "arm64",
        "topology.kubernetes.io/zone": zone,
    }
    taint = {"key": "hifi/pool", "value": pool, "effect": "NoSchedule"}
    room = {"cpu": "64", "memory": "256Gi", "pods": "110", "ephemeral-storage": "1Ti"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "spec": {} if pool == "services" else {"taints": [taint]},
        "status": {"allocatable": room, "capacity": room},
    }
