"""What the release scripts do in a cluster, which a stub of kubectl stands for: its calls, in their order."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shared.contracts.topology import CHAIN_GROUPS
from shared.runtime.metrics import ObserveMetric

ROOT = Path(__file__).parents[4]
STUB = """#!/bin/bash
echo "$*" >> "$CALLS"
case "$*" in *exec*)
    n=$(grep -c exec "$CALLS"); file="$ANSWERS/$n"; [ -f "$file" ] || file="$ANSWERS/last"; cat "$file" ;;
esac
"""


class Release:
    """A checkout whose cluster is a stub; its `exec` calls get the given answers, the last one for ever."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        shutil.copytree(ROOT / "scripts" / "release", folder / "scripts" / "release")
        self.program("bin/kubectl", STUB)
        self.program("bin/aws", "#!/bin/bash\n")
        self.program("bin/sleep", "#!/bin/bash\n")
        self.program("scripts/release/live_weights.sh", '#!/bin/bash\necho \'{"blue": 100, "green": 0}\'\n')
        python = f'#!/bin/bash\nPYTHONSAFEPATH=1 PYTHONPATH={ROOT} exec {sys.executable} "$@"\n'
        self.program(".venv/bin/python", python)

    def program(self, name: str, text: str) -> None:
        """Put a program into the checkout, in place of what is there."""
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run(
        self, script: str, *answers: str, argument: str = "green", **variables: str
    ) -> tuple[int, list[str]]:
        """Exit status of a script, by default for green, and the calls of kubectl."""
        given, calls = self._folder / "answers", self._folder / "calls"
        given.mkdir()
        for number, text in enumerate(answers, 1):
            (given / str(number)).write_text(text)
            (given / "last").write_text(text)
        path = f"{self._folder / 'bin'}:{os.environ['PATH']}"
        own = {"PATH": path, "PREFIX": "hifi-test", "CALLS": str(calls), "ANSWERS": str(given)}
        command = [str(self._folder / "scripts" / "release" / script), argument]
        done = subprocess.run(command, env=os.environ | own | variables, check=False, timeout=30)
        return done.returncode, calls.read_text().splitlines() if calls.exists() else []


@pytest.fixture
def release(tmp_path: Path) -> Release:
    return Release(tmp_path)


def unread(count: int) -> str:
    lines = [f'{ObserveMetric.UNREAD}{{node="{node}"}} {count}' for node in CHAIN_GROUPS]
    return "\n".join([*lines, f"{ObserveMetric.BEHIND_SECONDS} 0", ""])


def minute(**fields: int) -> str:
    return json.dumps([{"minute": 1, "lost": 0, "settled": True, "total": 200, "good": 200} | fields])


def test_a_side_is_parked_only_after_nothing_is_left_unread(release: Release) -> None:
    status, calls = release.run("park.sh", unread(7), unread(0))
    asked = [number for number, call in enumerate(calls) if " exec " in call]
    scaled = [number for number, call in enumerate(calls) if " scale " in call]
    assert (status, len(asked)) == (0, 2)
    assert "scaledobject/collect" in calls[0]
    assert scaled
    assert min(scaled) > max(asked)


def test_a_side_with_unread_records_is_never_parked(release: Release) -> None:
    status, calls = release.run("park.sh", unread(7), DRAIN_SECONDS="0")
    assert status
    assert not any(" scale " in call for call in calls)


def test_a_bad_verdict_fails_the_job_and_a_good_one_does_not(tmp_path: Path) -> None:
    for number, (answer, wanted) in enumerate([(minute(lost=1), 1), (minute(good=100), 1), (minute(), 0)]):
        status, _ = Release(tmp_path / str(number)).run("judge.sh", answer, MINUTES="1")
        assert status == wanted


def test_the_drivers_of_a_failed_release_start_again(release: Release) -> None:
    status, calls = release.run("resume.sh", "")
    assert status == 0
    assert "scale deployment --replicas=1" in calls[-1]


def test_a_side_whose_canary_sees_no_event_is_not_verified(release: Release) -> None:
    release.program("bin/curl", '#!/bin/bash\ncase "$*" in *readyz) printf 200 ;; *) printf 401 ;; esac\n')
    status, calls = release.run("verify.sh", "", VERIFY_SECONDS="0")
    assert status
    assert "exec deployment/canary" in calls[-1]


def test_a_release_prunes_by_its_label_before_it_waits_for_the_pods(release: Release) -> None:
    release.program("bin/aws", "#!/bin/bash\necho answer\n")
    release.program(".venv/bin/python", "#!/bin/bash\n")
    images = {"SERVICE_IMAGE": "service", "SPARK_IMAGE": "spark"}
    status, calls = release.run("deploy_workloads.sh", **images)
    (applied,) = (number for number, call in enumerate(calls) if "apply -k" in call)
    assert status == 0
    assert (
        "--prune --selector app.kubernetes.io/part-of=hifi --prune-allowlist=apps/v1/Deployment"
        in calls[applied]
    )
    (deleted,) = (number for number, call in enumerate(calls) if "delete job topics" in call)
    (waited,) = (number for number, call in enumerate(calls) if "condition=complete job/topics" in call)
    assert deleted < applied < waited


def test_a_release_writes_the_accounts_ids_of_the_zones(release: Release) -> None:
    zones = r"eu-west-1a\teuw1-az3\neu-west-1b\teuw1-az1\neu-west-1c\teuw1-az2\n"
    release.program(
        "bin/aws",
        f'#!/bin/bash\ncase "$*" in *availability-zones*) printf "{zones}" ;; *) echo answer ;; esac\n',
    )
    release.program(".venv/bin/python", '#!/bin/bash\necho "$*" >> "$CALLS"\n')
    status, calls = release.run("deploy_workloads.sh", SERVICE_IMAGE="service", SPARK_IMAGE="spark")
    assert status == 0
    wanted = "eu-west-1a=euw1-az3,eu-west-1b=euw1-az1,eu-west-1c=euw1-az2"
    assert f"--zone-ids {wanted} " in calls[0]


AWS = """#!/bin/bash
case "$*" in
    *availability-zones*) printf 'eu-west-1a\\teuw1-az3\\neu-west-1b\\teuw1-az1\\n' ;;
    *list-clusters-v2*) echo "arn:of:$(echo "$*" | grep -o 'hifi-test-[a-z]*' | head -1)" ;;
    *get-bootstrap-brokers*) echo "b-1.$(echo "$*" | grep -o 'hifi-test-[a-z]*'):9098" ;;
    *hosted-zones*) echo /hostedzone/Z123 ;;
esac
"""


def test_a_version_is_stored_for_both_sides_with_what_the_account_answers(release: Release) -> None:
    release.program("bin/aws", AWS)
    release.program(
        ".venv/bin/python", '#!/bin/bash\necho "$*" >> "$CALLS"\n[[ "$*" != *publish* ]] || cat > /dev/null\n'
    )
    images = {"SERVICE_IMAGE": "service", "SPARK_IMAGE": "spark", "VERSIONS": "bucket"}
    status, calls = release.run("publish_version.sh", argument="1.2.3", **images)
    assert status == 0
    for side in ("blue", "green"):
        values, stored = (
            next(each for each in calls if part in each and f" {side}" in each)
            for part in ("workloads.values", "publish_version")
        )
        assert f"--bootstrap b-1.hifi-test-{side}:9098" in values
        assert "--zone-ids eu-west-1a=euw1-az3,eu-west-1b=euw1-az1 " in values
        assert stored.endswith(f"1.2.3 {side} bucket")
        assert calls.index(values) < calls.index(stored)


def test_a_cluster_gets_the_deployer_of_both_sides_and_sparks_secret_once(release: Release) -> None:
    release.program("bin/aws", AWS)
    release.program(".venv/bin/python", '#!/bin/bash\necho "$*" >> "$CALLS"\n')
    status, calls = release.run("prepare_cluster.sh", SERVICE_IMAGE="service", DOMAIN="hifi.test")
    assert status == 0
    assert "--zone Z123 " in calls[0]
    for side in ("blue", "green"):
        assert f"--{side}-kafka arn:of:hifi-test-{side} " in calls[0]
        assert f"--{side}-bootstrap b-1.hifi-test-{side}:9098" in calls[0]
    ours = [each for each in calls[1:] if "--context hifi-test-green --namespace hifi " in each]
    assert ours == calls[1:]
    assert any("apply -k infra/workloads/cluster" in each for each in ours)
    assert not any("create secret" in each for each in ours), "it is there: the stub answers"
    assert "rollout status deployment/deploy" in ours[-1]


def test_a_side_whose_brokers_are_being_changed_gets_no_version(release: Release) -> None:
    images = {"SERVICE_IMAGE": "service", "SPARK_IMAGE": "spark", "VERSIONS": "bucket"}
    status, calls = release.run("publish_version.sh", **images)
    assert (status != 0, calls) == (True, [])


def quiesced(
    release: Release, *, light: bool = False, clusters: str = "hifi-test-green"
) -> tuple[int, list[str]]:
    """`quiesce.sh` of a side that is closed, unless it is light, in an account with these clusters."""
    release.program(".venv/bin/python", f'#!/bin/bash\necho "$*" >> "$CALLS"\nexit {int(light)}\n')
    release.program("bin/aws", f'#!/bin/bash\ncase "$*" in *list-clusters*) printf "{clusters}\\n" ;; esac\n')
    release.program(
        "bin/kubectl", STUB + 'case "$*" in *" get deployment"*) echo deployment/ingest ;; esac\n'
    )
    return release.run("quiesce.sh")


def test_a_dark_sides_drivers_stop_once_traffic_is_kept_from_it(release: Release) -> None:
    status, calls = quiesced(release)
    assert status == 0
    assert calls[0].endswith("scripts.release.traffic close green")
    scaled, waited = calls[-2:]
    for node in ("ingest", "route", "transmit", "audit"):
        assert node in scaled
        assert node in waited
    assert "scale deployment --replicas=0" in scaled
    assert "wait --for=delete pod" in waited


def test_a_light_sides_drivers_go_on(release: Release) -> None:
    status, calls = quiesced(release, light=True)
    assert (status != 0, len(calls)) == (True, 1)


def test_a_side_that_is_not_there_yet_has_nothing_to_stop(release: Release) -> None:
    status, calls = quiesced(release, clusters="hifi-test-blue")
    assert (status, len(calls)) == (0, 1)
