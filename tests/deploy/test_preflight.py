"""The preflight: its findings in an account, and the requests that it files."""

from collections.abc import Iterator

import pytest

from infra.config import Environment, RunSettings, load_environment
from infra.preflight.__main__ import report
from infra.preflight.account import Account
from tests.deploy.aws.documents import Place
from tests.deploy.aws.server import LocalAws, serving

LOCAL = load_environment(RunSettings())


@pytest.fixture
def number(request: pytest.FixtureRequest) -> str:
    """A new account for each test."""
    return str(555555555000 + len(request.node.name))


@pytest.fixture
def aws(number: str) -> Iterator[LocalAws]:
    with serving(Place(account=number, region="eu-west-1")) as local:
        yield local


@pytest.fixture
def environment(number: str) -> Environment:
    return LOCAL.model_copy(update={"account": number})


def test_a_new_account_gets_its_quotas_requested_once(aws: LocalAws, environment: Environment) -> None:
    account = Account(aws.client)
    looked = report(account, environment, file=False)
    assert {line.rpartition("/")[2] for line in looked} == {"L-1216C47A", "L-34B43A08"}
    assert not any("requested" in line for line in looked)
    assert sum("requested now" in line for line in report(account, environment, file=True)) == 2
    assert sum("requested before" in line for line in report(account, environment, file=True)) == 2
    aws.quotas.grant()
    assert report(account, environment, file=False) == []


def test_addresses_of_others_count(aws: LocalAws, environment: Environment) -> None:
    for _ in range(4):
        aws.client("ec2").allocate_address(Domain="vpc")
    (line,) = [each for each in report(Account(aws.client), environment, file=False) if "L-0263D0A3" in each]
    assert "quota 5, needed 6" in line
    assert "4 used by others" in line


def test_a_service_role_that_exists_is_named_with_the_field(aws: LocalAws, environment: Environment) -> None:
    account = Account(aws.client)
    declared = environment.model_copy(update={"existing_service_roles": ["autoscaling.amazonaws.com"]})
    (missing,) = account.problems(declared)
    assert "missing; take it out" in missing
    aws.client("iam").create_service_linked_role(AWSServiceName="autoscaling.amazonaws.com")
    (exists,) = account.problems(environment)
    assert "add autoscaling.amazonaws.com to existing_service_roles" in exists
    assert account.problems(declared) == []


def test_a_connection_that_is_not_confirmed_is_named(aws: LocalAws, environment: Environment) -> None:
    kms, name = aws.client("kms"), environment.names.github_connection
    key = kms.create_key()["KeyMetadata"]["KeyId"]
    kms.create_alias(AliasName=environment.names.key_alias("cluster"), TargetKeyId=key)
    aws.client("codestar-connections").create_connection(ConnectionName=name, ProviderType="GitHub")
    (pending,) = Account(aws.client).problems(environment)
    assert f"{name} is PENDING" in pending
    aws.connections.confirm()
    assert Account(aws.client).problems(environment) == []


def test_an_addon_version_that_eks_does_not_offer_is_named(aws: LocalAws, environment: Environment) -> None:
    addons = environment.cluster.addons.model_copy(update={"coredns": "v9.9.9-eksbuild.1"})
    cluster = environment.cluster.model_copy(update={"addons": addons})
    (line,) = Account(aws.client).problems(environment.model_copy(update={"cluster": cluster}))
    assert "coredns v9.9.9-eksbuild.1 is not offered for Kubernetes 1.35" in line


def test_credentials_of_another_account_are_named(aws: LocalAws, number: str) -> None:
    """Findings would describe the wrong account."""
    (line,) = Account(aws.client).problems(LOCAL)
    assert f"credentials are of account {number}" in line
    assert LOCAL.account in line
