"""The brokers in a version's manifests. Pure.

A version is stored with the brokers that its side had then. A side that was made anew has others, which the
deployer has in its settings.
"""

from collections.abc import Sequence
from typing import Final

from pipelines.control.backends.aws.manifest import Manifest
from shared.contracts.bootstrap import IAM

_BOOTSTRAP: Final = "HIFI_BOOTSTRAP"


def with_brokers(manifests: Sequence[Manifest], bootstrap: str) -> Sequence[Manifest]:
    """The manifests of a version, with these brokers where all that it names are gone.

    One remaining broker is enough: a process learns of the new ones from it.

    Args:
        manifests: of the version.
        bootstrap: the side's brokers, as its processes get them.
    """
    return [_with_brokers(each, bootstrap) for each in manifests]


def _with_brokers(manifest: Manifest, bootstrap: str) -> Manifest:
    data = manifest.get("data", {}) if manifest["kind"] == "ConfigMap" else {}
    former = data.get(_BOOTSTRAP, bootstrap)
    if _addresses(former) & _addresses(bootstrap):
        return manifest
    # KEDA has the same brokers in a variable of its own.
    old, new = former.removeprefix(IAM), bootstrap.removeprefix(IAM)
    changed = {name: value.replace(old, new) for name, value in data.items()}
    return manifest | {"data": changed | {_BOOTSTRAP: bootstrap}}


def _addresses(bootstrap: str) -> set[str]:
    return set(bootstrap.removeprefix(IAM).split(","))
