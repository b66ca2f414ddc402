"""The scripts that bring manifests into a cluster know everything that is in these."""

import re
import subprocess

from tests.synth.workloads.manifests import LASTING, WORKLOADS, Manifest, label, of_kind

SCRIPTS = WORKLOADS.parents[1] / "scripts" / "release"


def test_a_release_removes_what_a_former_one_had_and_this_one_has_not(manifests: list[Manifest]) -> None:
    script = (SCRIPTS / "deploy_workloads.sh").read_text()
    (selector,) = re.findall(r"--prune --selector (\S+)=(\S+)", script)
    loop = script[script.index("for kind in") : script.index("; do", script.index("for kind in"))]
    prunable = set(
        subprocess.check_output(["bash", "-c", loop.replace("for kind in", "echo")]).decode().split()
    )
    lasting = {"core/v1/ConfigMap"}
    for each in manifests:
        group = each["apiVersion"] if "/" in each["apiVersion"] else f"core/{each['apiVersion']}"
        kind = f"{group}/{each['kind']}"
        assert (kind in prunable) != (kind in lasting), kind
        # with a selector, kubectl applies only what it selects
        assert each["metadata"]["labels"].get(selector[0]) == selector[1], kind


def test_parking_scales_everything_to_zero_and_waits_for_nobody(manifests: list[Manifest]) -> None:
    script = (SCRIPTS / "park.sh").read_text()
    assert "read -r" not in script
    for each in of_kind(manifests, *LASTING):
        assert re.search(rf"[\s/]{each['metadata']['name']}\b", script), label(each)
