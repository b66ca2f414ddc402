from pathlib import Path

import yaml

from .references import Resource, Stack, follow, key_alias, one, resources, statements


def _rules_of(stack: Stack, group: str) -> list[Resource]:
    """The rules that admit a security group."""
    return [
        each
        for each in resources(stack, "aws_vpc_security_group_ingress_rule")
        if each.get("referenced_security_group_id") == group
    ]


def _runner_group(stack: Stack) -> str:
    (group,) = one(stack, "aws_codebuild_project")["vpc_config"]["security_group_ids"]
    return str(group)


def test_a_runner_is_in_the_private_subnets_of_its_side(side: Stack) -> None:
    network = one(side, "aws_codebuild_project")["vpc_config"]
    assert follow(side, network["vpc_id"]) is one(side, "aws_vpc")
    subnets = [follow(side, each) for each in network["subnets"]]
    assert len({each["availability_zone"] for each in subnets}) == 3
    # CodeBuild's interfaces have no public address: only a NAT gateway leads them to GitHub.
    assert all("-private-" in each["tags"]["Name"] for each in subnets)


def test_the_runner_takes_the_jobs_of_the_repository(side: Stack) -> None:
    project, hook = one(side, "aws_codebuild_project"), one(side, "aws_codebuild_webhook")
    assert follow(side, hook["project_name"]) is project
    queued, actors = hook["filter_group"][0]["filter"]
    assert queued == {"pattern": "WORKFLOW_JOB_QUEUED", "type": "EVENT"}
    # A stranger's pull request may name the runner's label.
    assert actors == {"pattern": "^(1000001)$", "type": "ACTOR_ACCOUNT_ID"}
    assert project["source"]["location"] == "https://github.com/example/hifi.git"
    assert project["source"]["auth"]["type"] == "CODECONNECTIONS"


def test_the_runner_and_only_it_reaches_the_kubernetes_api_from_outside_the_cluster(side: Stack) -> None:
    admitted = [
        each
        for each in resources(side, "aws_vpc_security_group_ingress_rule")
        if each["security_group_id"].endswith("cluster_security_group_id}")
    ]
    assert [each["referenced_security_group_id"] for each in admitted] == [_runner_group(side)]
    assert [(each["from_port"], each["to_port"]) for each in admitted] == [(443, 443)]


def test_the_runner_reaches_the_front_door_and_the_endpoints_of_aws(side: Stack) -> None:
    """Private DNS leads the names of AWS services to the endpoints, which need a rule to answer."""
    targets = {
        follow(side, each["security_group_id"])["name"].rpartition("-")[2]
        for each in _rules_of(side, _runner_group(side))
        if not each["security_group_id"].endswith("cluster_security_group_id}")
    }
    assert targets == {"balancer", "endpoints"}


def test_a_public_front_door_admits_the_runner_behind_nat(side: Stack) -> None:
    rules = resources(side, "aws_vpc_security_group_ingress_rule")
    sources = {each["cidr_ipv4"] for each in rules if each.get("description") == "runner"}
    assert len(sources) == len(resources(side, "aws_nat_gateway"))
    assert all(".public_ip}/32" in each for each in sources)


def test_the_runner_has_no_rights_of_a_deployment(side: Stack) -> None:
    role = follow(side, one(side, "aws_codebuild_project")["service_role"])
    (policy,) = [
        each for each in resources(side, "aws_iam_role_policy") if follow(side, each["role"]) is role
    ]
    services = {action.split(":")[0] for each in statements(policy) for action in each["Action"]}
    assert services == {"logs", "codestar-connections", "ec2"}


def test_what_jobs_print_is_encrypted_and_ends(side: Stack, environment: str) -> None:
    group = follow(side, one(side, "aws_codebuild_project")["logs_config"]["cloudwatch_logs"]["group_name"])
    assert key_alias(side, group["kms_key_id"]) == f"alias/hifi-{environment}-logs"


def test_the_runner_is_one_that_the_workflows_actions_support_and_outlasts_every_job(side: Stack) -> None:
    project = one(side, "aws_codebuild_project")
    (place,) = (
        project["environment"] if isinstance(project["environment"], list) else [project["environment"]]
    )
    assert place["image"].startswith("aws/codebuild/standard:"), "Ubuntu: setup-python has nothing for others"
    folder = Path(__file__).parents[3] / ".github" / "workflows"
    limits = [
        int(job["timeout-minutes"])
        for file in folder.glob("*.yml")
        for job in yaml.safe_load(file.read_text())["jobs"].values()
        if "runner" in str(job.get("runs-on", ""))
    ]
    assert limits
    assert project["build_timeout"] > max(limits)
