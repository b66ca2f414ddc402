"""The scripts of a release, with stubs for AWS and the cluster: their calls in order."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
STUB = """#!/bin/bash
echo "$*" >> "$CALLS"
"""


class Release:
    """A checkout with stubs for programs, which record their calls; AWS answers nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        shutil.copytree(ROOT / "scripts" / "release", folder / "scripts" / "release")
        self.program("bin/kubectl", STUB)
        self.program("bin/aws", "#!/bin/bash\n")
        self.program(".venv/bin/python", STUB)

    def program(self, name: str, text: str) -> None:
        """Replace a program in the checkout."""
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run(self, script: str, argument: str, **variables: str) -> tuple[int, list[str]]:
        """Run a script; returns its exit status and its programs' calls."""
        calls, path = self._folder / "calls", f"{self._folder / 'bin'}:{os.environ['PATH']}"
        own = {"PATH": path, "PREFIX": "hifi-test", "CALLS": str(calls)}
        command = [str(self._folder / "scripts" / "release" / script), argument]
        done = subprocess.run(command, env=os.environ | own | variables, check=False, timeout=120)
        return done.returncode, calls.read_text().splitlines() if calls.exists() else []


@pytest.fixture
def release(tmp_path: Path) -> Release:
    return Release(tmp_path)


AWS = """#!/bin/bash
case "$*" in
    *availability-zones*) printf 'eu-west-1a\\teuw1-az3\\neu-west-1b\\teuw1-az1\\n' ;;
    *list-clusters-v2*) echo "arn:of:$(echo "$*" | grep -o 'hifi-test-[a-z]*' | head -1)" ;;
    *list-nodes*)
        for number in 10 2 1; do printf "b-$number.%s\\t" "$(echo "$*" | grep -o 'hifi-test-[a-z]*')"; done ;;
    *hosted-zones*) echo /hostedzone/Z123 ;;
esac
"""


IMAGES = {"SERVICE_IMAGE": "service", "SPARK_IMAGE": "spark", "VERSIONS": "bucket"}


def brokers(side: str) -> str:
    """The brokers as every run names them, in whatever order AWS answers."""
    return ",".join(f"b-{number}.hifi-test-{side}:9098" for number in (1, 2, 10))


def test_a_version_is_stored_for_both_sides_with_what_the_account_answers(release: Release) -> None:
    release.program("bin/aws", AWS)
    release.program(".venv/bin/python", f"{STUB}cat > /dev/null\n")
    status, calls = release.run("publish_version.sh", "1.2.3", **IMAGES)
    assert status == 0
    for side in ("blue", "green"):
        values, stored = (
            next(each for each in calls if part in each and f" {side}" in each)
            for part in ("workloads.values", "publish_version")
        )
        assert f"--bootstrap {brokers(side)} " in values
        assert "--zone-ids eu-west-1a=euw1-az3,eu-west-1b=euw1-az1 " in values
        assert stored.endswith(f"1.2.3 {side} bucket")
        assert calls.index(values) < calls.index(stored)


def test_a_version_is_stored_for_green_though_blue_refuses_it(release: Release) -> None:
    release.program("bin/aws", AWS)
    release.program(".venv/bin/python", f"{STUB}cat > /dev/null\n[[ $* != *publish_version*blue* ]]\n")
    status, calls = release.run("publish_version.sh", "1.2.3", **IMAGES)
    assert status != 0
    assert any(each.endswith("publish_version 1.2.3 green bucket") for each in calls)


def test_nothing_is_stored_of_a_rendering_that_failed(release: Release) -> None:
    release.program("bin/aws", AWS)
    release.program("bin/kubectl", f"{STUB}echo 'kind: Namespace'\n[[ $* != *blue* ]]\n")
    release.program(".venv/bin/python", f'{STUB}[[ $* != *publish_version* ]] || cat >> "$CALLS"\n')
    status, calls = release.run("publish_version.sh", "1.2.3", **IMAGES)
    assert status != 0
    stored = [each for each in calls if "publish_version 1.2.3" in each]
    assert [each.split()[-2] for each in stored] == ["green"]
    assert calls[-1] == "kind: Namespace"


def test_a_cluster_gets_the_deployer_of_both_sides_and_sparks_secret_once(release: Release) -> None:
    release.program("bin/aws", AWS)
    status, calls = release.run("prepare_cluster.sh", "green", SERVICE_IMAGE="service", DOMAIN="hifi.test")
    assert status == 0
    assert "--zone Z123 " in calls[0]
    for side in ("blue", "green"):
        assert f"--{side}-kafka arn:of:hifi-test-{side} " in calls[0]
        assert f"--{side}-bootstrap {brokers(side)}" in calls[0]
    ours = [each for each in calls[1:] if "--context hifi-test-green --namespace hifi " in each]
    assert ours == calls[1:]
    assert any("apply -k infra/workloads/cluster" in each for each in ours)
    assert not any("create secret" in each for each in ours), "it is there: the stub answers"
    assert "rollout status deployment/deploy" in ours[-1]


def test_a_side_whose_brokers_are_being_changed_gets_no_version(release: Release) -> None:
    status, calls = release.run("publish_version.sh", "1.2.3", **IMAGES)
    assert (status != 0, calls) == (True, [])


@pytest.mark.parametrize(("parked", "allowed"), [(True, True), (False, False), (None, False)])
def test_a_stack_is_changed_only_under_a_side_that_is_parked(
    release: Release, parked: bool | None, allowed: bool
) -> None:
    known = [{"side": "blue", "parked": False}]
    known += [] if parked is None else [{"side": "green", "parked": parked}]
    release.program(".venv/bin/python", f"#!/bin/bash\necho '{json.dumps({'sides': known})}'\n")
    status, _ = release.run("parked.sh", "green")
    assert (status == 0) is allowed


REASON = "--reason deployment of the side's stack"
BEGIN, END = f"maintenance begin --for 3h {REASON}", f"maintenance end {REASON}"


def of_a_side(release: Release, *, parked: bool, deployed: bool = True) -> tuple[int, list[str]]:
    """Exit status, and the actions on green in order."""
    known = json.dumps({"sides": [{"side": "green", "parked": parked}]})
    asked = f"[[ $* != *sides* ]] || {{ echo '{known}'; exit; }}\n"
    release.program(".venv/bin/python", f'#!/bin/bash\n{asked}echo "$HIFI_SIDE" "$*" >> "$CALLS"\n')
    release.program("bin/npx", f"{STUB}exit {0 if deployed else 1}\n")
    return release.run("side_stack.sh", "green", HIFI_SIDE="")


def test_a_stack_is_deployed_on_a_parked_side_in_maintenance_with_nothing_leading_to_it(
    release: Release,
) -> None:
    assert of_a_side(release, parked=True) == (
        0,
        [
            f"green -m scripts.cli {BEGIN}",
            " -m scripts.release.traffic close green",
            "--no-install cdktf deploy green --auto-approve",
            " -m scripts.release.traffic open green",
            f"green -m scripts.cli {END}",
        ],
    )


def test_a_side_whose_stack_was_not_deployed_stays_closed_and_in_maintenance(release: Release) -> None:
    status, calls = of_a_side(release, parked=True, deployed=False)
    assert status != 0
    assert "cdktf deploy green" in calls[-1]


def test_nothing_is_done_to_a_side_that_is_not_parked(release: Release) -> None:
    status, calls = of_a_side(release, parked=False)
    assert (status != 0, calls) == (True, [])
