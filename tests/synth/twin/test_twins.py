import json
import re

from ..conftest import Synthesised
from ..terraform import every_resource
from .references import Stack, key_alias, one, resources


def _without_name_and_network(stack: Stack, side: str) -> str:
    """A side's Terraform as text, without its name and the addresses of its network."""
    network = ".".join(one(stack, "aws_vpc")["cidr_block"].split(".")[:2])
    text = re.sub(rf"\b{re.escape(network)}(\.\d+)(\.\d+)(/\d+)", r"NETWORK\1\2\3", json.dumps(stack))
    return re.sub(rf"\b{side}\b", "SIDE", text)


def test_the_twins_differ_in_name_and_network_only(environment: str, synthesised: Synthesised) -> None:
    stacks = synthesised(environment)
    blue, green = (json.loads(_without_name_and_network(stacks[each], each)) for each in ("blue", "green"))
    assert blue == green


def test_the_twins_do_differ(environment: str, synthesised: Synthesised) -> None:
    stacks = synthesised(environment)
    blue, green = (one(stacks[each], "aws_vpc")["cidr_block"] for each in ("blue", "green"))
    assert blue != green


def test_a_twin_knows_nothing_of_the_other(environment: str, synthesised: Synthesised) -> None:
    stacks = synthesised(environment)
    assert "green" not in json.dumps(stacks["blue"])
    assert "blue" not in json.dumps(stacks["green"])


def test_a_twin_refers_to_no_other_stack(side: Stack) -> None:
    assert "terraform_remote_state" not in side.get("data", {})
    here = {f"{kind}.{key}" for kind, found in side["resource"].items() for key in found} | {
        f"data.{kind}.{key}" for kind, found in side["data"].items() for key in found
    }
    used = set(re.findall(r"\$\{(?:\w+\()*((?:data\.)?aws_\w+\.[\w-]+)", json.dumps(side)))
    assert used
    assert used <= here


def test_what_foundation_holds_is_found_by_name(side: Stack) -> None:
    """A side uses only these data sources: each of them must exist before a plan."""
    assert set(side["data"]) == {"aws_acm_certificate", "aws_codestarconnections_connection", "aws_kms_alias"}


def test_every_log_is_encrypted_and_ends(side: Stack, environment: str) -> None:
    groups = resources(side, "aws_cloudwatch_log_group")
    assert groups
    for group in groups:
        assert key_alias(side, group["kms_key_id"]) == f"alias/hifi-{environment}-logs"
        assert group["retention_in_days"] > 0


def test_every_name_says_environment_and_side(side: Stack, environment: str) -> None:
    prefix = f"hifi-{environment}-blue"
    checked = 0
    for kind, resource in every_resource(side):
        if kind == "helm_release":
            continue
        for key in ("name", "alarm_name", "cluster_name"):
            value = resource.get(key, "")
            if value and not value.startswith("${"):
                checked += 1
                assert prefix in value, f"{kind}: {value}"
    assert checked > 20


def test_nothing_is_stored_in_the_terraform(side: Stack) -> None:
    text = json.dumps(side["resource"]).lower()
    assert not re.search(r"akia[0-9a-z]{16}|-----begin|\"password\":|secret_key", text)
