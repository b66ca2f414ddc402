"""The run book of docs/infrastructure.md, executed from top to bottom: an empty account to a first event.

Each test is a step, continues where the one before ended, and uses the page's command. The account is the
local AWS. It has no Kubernetes, so in the last step a local side runs the programs. `pytest --durations=0`
prints the time of each step.
"""

import json
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
import yaml

from infra.config import Environment, RunSettings, load_environment
from infra.naming import Side
from infra.workloads.cluster_values import SideKafka, deploy_values
from infra.workloads.values import env_file, release_values, side_values
from scripts.load.receiver import Receiver, running
from tests.deploy.aws.server import LocalAws, serving
from tests.deploy.terraform import environment as terraform_environment
from tests.harness.command_line import HifiProcess
from tests.harness.live_side import LiveSide
from tests.harness.waiting import eventually

pytestmark = pytest.mark.proof

ROOT: Final = Path(__file__).parents[2]
CDKTF: Final = ROOT / "node_modules" / ".bin" / "cdktf"
SECONDS: Final = 1_200
IMAGES: Final = {"service_image": "registry/service:first", "spark_image": "registry/spark:first"}
ARRIVES_SECONDS: Final = 120
SCORED_SECONDS: Final = 300


class Account:
    """An empty account, and the shell of the person who first deploys to it."""

    def __init__(self, aws: LocalAws, folder: Path) -> None:
        self.aws, self._folder = aws, folder
        self.settings: Environment = load_environment(
            RunSettings.model_validate({"aws_endpoint": aws.endpoint})
        )

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run a command of the run book in the project's folder."""
        return subprocess.run(
            command,
            cwd=ROOT,
            env=self._shell(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def python(self, module: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a module of the project."""
        return self.run(sys.executable, "-m", module, *arguments)

    def cdktf(self, command: str, *stacks: str) -> None:
        """Run `cdktf deploy` or `destroy`, with a synthesis and without a question."""
        flags = ("--auto-approve", "--skip-provider-lock", "--output", str(self._folder / "cdktf.out"))
        done = self.run(str(CDKTF), command, *stacks, *flags)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]

    def _shell(self) -> Mapping[str, str]:
        return {
            **terraform_environment(),
            "HIFI_ENVIRONMENT": "local",
            "HIFI_AWS_ENDPOINT": self.aws.endpoint,
            "HIFI_STATE_FOLDER": str(self._folder / "state"),
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "CI": "1",
            "DISABLE_VERSION_CHECK": "1",
            "CHECKPOINT_DISABLE": "1",
        }


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory, terraform_command: str) -> Iterator[Account]:
    """A new account."""
    if not CDKTF.exists() or shutil.which("node") is None:
        pytest.skip("no cdktf-cli: `make deploy-tools` installs it (needs Node.js 20 or newer with npm)")
    with serving() as aws:
        assert aws.inventory() == Counter(), "the account is not empty"
        yield Account(aws, tmp_path_factory.mktemp("run-book"))


def test_1_settings_are_whole(account: Account) -> None:
    assert account.python("infra.workloads.outputs").returncode == 0
    assert account.settings.management.client_ranges


def test_2_the_preflight_files_the_quotas_and_then_finds_the_account_ready(account: Account) -> None:
    lacking = account.python("infra.preflight")
    assert lacking.returncode == 1
    assert "quota" in lacking.stdout
    assert "requested now" in account.python("infra.preflight", "--file").stdout
    account.aws.quotas.grant()
    ready = account.python("infra.preflight")
    assert ready.returncode == 0, ready.stdout


def test_3_foundation(account: Account) -> None:
    account.cdktf("deploy", "foundation")
    issued = account.aws.client("acm").list_certificates(CertificateStatuses=["ISSUED"])
    hosts = {each["DomainName"] for each in issued["CertificateSummaryList"]}
    assert hosts == {account.settings.events_host, account.settings.api_host}


def test_4_the_connection_to_github_is_named_until_it_is_confirmed(account: Account) -> None:
    pending = account.python("infra.preflight")
    assert "is PENDING" in pending.stdout
    account.aws.connections.confirm()
    ready = account.python("infra.preflight")
    assert "PENDING" not in ready.stdout


def test_5_sides(account: Account) -> None:
    account.cdktf("deploy", "blue", "green")
    for side in Side:
        name = account.settings.twin(side).names.prefix
        found = account.aws.client("eks").describe_cluster(name=name)["cluster"]
        assert found["status"] == "ACTIVE"


@pytest.mark.parametrize("side", list(Side))
def test_6_workloads_are_rendered_with_what_the_account_answers(
    account: Account, side: Side, tmp_path: Path
) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl: install it to render the workloads")
    overlay = _with_values(account, side, tmp_path)
    done = account.run("kubectl", "kustomize", str(overlay))
    assert done.returncode == 0, done.stderr
    manifests = list(yaml.safe_load_all(done.stdout))
    (values,) = [
        each["data"]
        for each in manifests
        if each["kind"] == "ConfigMap" and "HIFI_SIDE" in each.get("data", {})
    ]
    assert values["KAFKA_BROKERS"] == _brokers(account, side)
    bindings = {each["spec"]["targetGroupName"] for each in manifests if each["kind"] == "TargetGroupBinding"}
    groups = account.aws.client("elbv2").describe_target_groups()["TargetGroups"]
    assert bindings == {each["TargetGroupName"] for each in groups if f"-{side}-" in each["TargetGroupName"]}


def test_6_the_deployer_is_rendered_with_what_the_account_answers(account: Account, tmp_path: Path) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl: install it to render the workloads")
    shutil.copytree(ROOT / "infra" / "workloads", tmp_path / "workloads")
    (zone,) = account.aws.client("route53").list_hosted_zones()["HostedZones"]
    kafka = {
        side: SideKafka(arn=_kafka_arn(account, side), bootstrap=_brokers(account, side)) for side in Side
    }
    values = deploy_values(account.settings, zone=zone["Id"].rpartition("/")[2], kafka=kafka)
    (tmp_path / "workloads" / "cluster" / "deploy.env").write_text(env_file(values))
    done = account.run("kubectl", "kustomize", str(tmp_path / "workloads" / "cluster"))
    assert done.returncode == 0, done.stderr
    (found,) = [
        each["data"]
        for each in yaml.safe_load_all(done.stdout)
        if each["kind"] == "ConfigMap" and "HIFI_BACKEND" in each["data"]
    ]
    for side in Side:
        assert found[f"HIFI_AWS_{side.upper()}_BOOTSTRAP"] == f"iam://{_brokers(account, side)}"


def test_7_edge_leads_to_the_light_side(account: Account) -> None:
    account.cdktf("deploy", "edge")
    shown = account.python("scripts.release.traffic", "show")
    assert json.loads(shown.stdout) == {"blue": 100, "green": 0}, shown.stderr
    peerings = account.aws.client("ec2").describe_vpc_peering_connections()["VpcPeeringConnections"]
    states = [each["Status"]["Code"] for each in peerings]
    assert [each for each in states if each != "deleted"] == ["active"]  # which stay listed for a while


def test_8_a_first_event_is_delivered_and_the_scorecard_shows_it(account: Account, tmp_path: Path) -> None:
    live = LiveSide.fresh(tmp_path)
    try:
        live.up()
        with running(Receiver()) as receiver:
            _publish_first(live, f"{receiver.url}/first")
            eventually(lambda: _posted(live), ARRIVES_SECONDS, "collect knows the key")
            seen = receiver.counts("/first").seen
            eventually(lambda: bool(seen), ARRIVES_SECONDS, "the event arrives")
        eventually(lambda: _scored(live), SCORED_SECONDS, "the scorecard shows the delivery")
    finally:
        sys.stdout.write(live.log_tails())
        live.end()


def test_removal_leaves_nothing(account: Account) -> None:
    for stacks in (("edge",), ("blue", "green"), ("foundation",)):
        account.cdktf("destroy", *stacks)
    assert account.aws.inventory() == Counter()


def test_the_page_has_the_steps_that_are_executed_here() -> None:
    page = (ROOT / "docs" / "infrastructure.md").read_text()
    table = re.findall(r"(?m)^\| (\d+) \|(?:[^|]*\|){3} `tests/deploy/test_run_book\.py`", page)
    executed = {name.split("_")[1] for name in globals() if re.match(r"test_\d_", name)}
    assert set(table) == executed
    assert set(re.findall(r"(?m)^(\d)\. \*\*", page)) == executed


def _with_values(account: Account, side: Side, folder: Path) -> Path:
    """A copy of the workloads with this account's values, as a release writes them."""
    for part in ("workloads", "dashboards"):
        shutil.copytree(ROOT / "infra" / part, folder / part)
    overlay = folder / "workloads" / "overlays" / side
    zones = account.aws.client("ec2").describe_availability_zones()["AvailabilityZones"]
    values = side_values(
        account.settings,
        side,
        bootstrap=_brokers(account, side),
        zone_ids=",".join(f"{each['ZoneName']}={each['ZoneId']}" for each in zones),
    )
    (overlay / "side.env").write_text(env_file(values))
    (overlay / "release.env").write_text(env_file(release_values(account.settings, side, **IMAGES)))
    return overlay


def _kafka_arn(account: Account, side: Side) -> str:
    name = account.settings.twin(side).names.prefix
    (cluster,) = account.aws.client("kafka").list_clusters_v2(ClusterNameFilter=name)["ClusterInfoList"]
    return str(cluster["ClusterArn"])


def _brokers(account: Account, side: Side) -> str:
    found = account.aws.client("kafka").get_bootstrap_brokers(ClusterArn=_kafka_arn(account, side))
    return str(found["BootstrapBrokerStringSaslIam"])


def _publish_first(live: LiveSide, url: str) -> None:
    """The samples of the command line's page, with this test's destination."""
    documents = list(yaml.safe_load_all((ROOT / "scripts" / "samples" / "first.yaml").read_text()))
    for each in documents:
        if each["kind"] == "destination":
            each["options"]["url"] = url
    live.apply(*documents)


def _posted(live: LiveSide) -> bool:
    body = json.dumps({"hello": "world", "at": time.time_ns()}).encode()
    return live.post("first-write-key", body, "application/json")


def _scored(live: LiveSide) -> bool:
    """Whether the tenant's card of today counts the delivery."""
    card = HifiProcess(live.side.root, {}).json("scorecard", "--tenant", "acme")
    assert card["lost"] == 0
    return bool(card["delivered"] >= 1)
