"""kinesis and s3 sign the requests that they send: moto verifies the signatures."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import requests

from scripts.local.side import REACH
from tests.contract.connectors.conformance import ALL, ends, reasons, send
from tests.contract.transmit_rig import Rig
from tests.harness.local_aws import REGION, client, local_aws


@pytest.fixture
def aws() -> Iterator[str]:
    with local_aws() as url:
        yield url
        requests.post(f"{url}/moto-api/reset-auth", data="Infinity", timeout=60)


@pytest.fixture
def key(aws: str) -> tuple[str, str]:
    """An access key with all permissions, in a simulated AWS that verifies signatures from now on."""
    iam = client("iam", aws)
    iam.create_user(UserName="hifi")
    everything = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    iam.put_user_policy(
        UserName="hifi", PolicyName="all", PolicyDocument=msgspec.json.encode(everything).decode()
    )
    made = iam.create_access_key(UserName="hifi")["AccessKey"]
    client("kinesis", aws).create_stream(StreamName="events", ShardCount=1)
    client("s3", aws).create_bucket(Bucket="events", CreateBucketConfiguration={"LocationConstraint": REGION})
    requests.post(f"{aws}/moto-api/reset-auth", data="0", timeout=60)
    return made["AccessKeyId"], made["SecretAccessKey"]


@pytest.mark.parametrize(
    ("connector", "options"), [("kinesis", {"stream": "events"}), ("s3", {"bucket": "events"})]
)
def test_a_signature_is_right_with_the_right_key_and_wrong_with_another(
    aws: str, key: tuple[str, str], connector: str, options: dict[str, Any]
) -> None:
    rig = Rig(REACH)
    access = {
        "region": REGION,
        "access_key_id": key[0],
        "secret_access_key": "secret://t/aws",
        "endpoint": aws,
    }
    rig.lead("p1", connector, options | access)
    try:
        rig.secrets.values = {"secret://t/aws": f"{key[1]}\n"}
        right = send(rig)
        rig.secrets.values = {"secret://t/aws": "another"}
        wrong = send(rig)
    finally:
        rig.close()
    assert ends(right) == dict.fromkeys(ALL, "delivered")
    assert ends(wrong) == dict.fromkeys(ALL, "dead")
    assert {text.partition(" (")[0] for text in reasons(wrong)} <= {
        "refused: the destination answered 401",
        "refused: the destination answered 403",
    }
