"""LocalStack's free edition hosts foundation as far as it can: Terraform applies, localstack-client reads."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from localstack_client.session import Session

from scripts.aws.localstack import host_environment, installed
from tests.deploy.conftest import Synthesise
from tests.deploy.localstack_stack import reduced
from tests.deploy.terraform import Terraform
from tests.harness.waiting import free_port

pytestmark = pytest.mark.proof

START_S = 120


@pytest.fixture(scope="module")
def localstack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Endpoint of a LocalStack in host mode."""
    interpreter = installed()
    if interpreter is None:
        pytest.skip(
            "no LocalStack, so S3, KMS, IAM, Route 53, Secrets Manager and DynamoDB were tried against moto "
            "only: `make deploy-tools` installs it (needs Python 3.13)"
        )
    port = free_port()
    log = tmp_path_factory.mktemp("localstack") / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(interpreter), "-m", "localstack.runtime.main"],
            env=host_environment(port),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _await(f"http://127.0.0.1:{port}", process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=60)


@pytest.fixture(scope="module")
def session(localstack: str) -> Session:
    """localstack-client's session; only this client resolves the endpoints."""
    return Session(localstack_host=localstack.removeprefix("http://"), region_name="eu-west-1")


@pytest.fixture(scope="module")
def foundation(
    terraform_command: str, localstack: str, synthesise: Synthesise, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Terraform]:
    """The part of foundation that LocalStack supports, deployed there."""
    text = (synthesise() / "stacks" / "foundation" / "cdk.tf.json").read_text()
    folder = tmp_path_factory.mktemp("foundation")
    stack = reduced(json.loads(text))
    (provider,) = stack["provider"]["aws"]
    provider["endpoints"] = [dict.fromkeys(provider["endpoints"][0], localstack)]
    stack["terraform"]["backend"] = {"local": {"path": str(folder / "state")}}
    (folder / "cdk.tf.json").write_text(json.dumps(stack))
    terraform = Terraform(folder)
    terraform.init()
    terraform.apply()
    yield terraform
    terraform.destroy()


def test_buckets_are_private_encrypted_and_versioned(foundation: Terraform, session: Session) -> None:
    s3 = _client(session, "s3")
    names = [each["Name"] for each in s3.list_buckets()["Buckets"]]
    assert {"hifi-local-state-000000000000", "hifi-local-checkpoints-000000000000"} <= set(names)
    for name in names:
        block = s3.get_public_access_block(Bucket=name)["PublicAccessBlockConfiguration"]
        assert all(block[each] for each in block) and len(block) == 4, name
        assert s3.get_bucket_versioning(Bucket=name)["Status"] == "Enabled", name
        assert s3.get_bucket_encryption(Bucket=name)["ServerSideEncryptionConfiguration"]["Rules"], name


def test_keys_rotate(foundation: Terraform, session: Session) -> None:
    kms = _client(session, "kms")
    ours = [
        each for each in kms.list_aliases()["Aliases"] if each["AliasName"].startswith("alias/hifi-local-")
    ]
    assert ours
    for each in ours:
        assert kms.get_key_rotation_status(KeyId=each["TargetKeyId"])["KeyRotationEnabled"], each["AliasName"]


def test_the_deploy_role_is_github_s_alone(foundation: Terraform, session: Session) -> None:
    role = _client(session, "iam").get_role(RoleName="hifi-local-deploy")["Role"]
    statements = role["AssumeRolePolicyDocument"]["Statement"]
    assert {
        each["Action"] if isinstance(each["Action"], str) else each["Action"][0] for each in statements
    } == {"sts:AssumeRoleWithWebIdentity"}


def test_the_zone_is_there(foundation: Terraform, session: Session) -> None:
    zones = _client(session, "route53").list_hosted_zones()["HostedZones"]
    assert "hifi.test." in [each["Name"] for each in zones]


def test_a_second_plan_is_empty(foundation: Terraform) -> None:
    assert foundation.plan() == []


def test_secrets_come_back(localstack: str, session: Session) -> None:
    secrets = _client(session, "secretsmanager")
    secrets.create_secret(Name="hifi/signing", SecretString="whsec_x")
    assert secrets.get_secret_value(SecretId="hifi/signing")["SecretString"] == "whsec_x"


def test_tables_are_on_demand(localstack: str, session: Session) -> None:
    dynamodb = _client(session, "dynamodb")
    dynamodb.create_table(
        TableName="hifi-local-documents",
        KeySchema=[{"AttributeName": "name", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "name", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    table = dynamodb.describe_table(TableName="hifi-local-documents")["Table"]
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


def _client(session: Session, service: str) -> Any:
    return session.client(service)


def _await(endpoint: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()[-4000:]
        try:
            with urlopen(f"{endpoint}/_localstack/health", timeout=2):
                return
        except (URLError, OSError):
            time.sleep(0.3)
    raise TimeoutError(f"LocalStack does not answer after {START_S} s:\n{log.read_text()[-4000:]}")
