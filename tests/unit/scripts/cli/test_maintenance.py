"""A maintenance is ended by the person who began it, and by no deployment meanwhile."""

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from scripts.cli.main import application
from scripts.deployer.activities import activity_register
from shared.dynamodb.client import create_table
from shared.dynamodb.document_rows import DOCUMENT, TENANT
from shared.runtime.errors import OperatorError

PATCH, STACK = "broker patch", "deployment of the side's stack"


@pytest.fixture(autouse=True)
def side(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A side in AWS with an unknown observe."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("HIFI_DOCUMENTS_TABLE", "documents")
    monkeypatch.setenv("HIFI_SIDE", "green")
    monkeypatch.delenv("HIFI_DOCUMENTS_ENDPOINT", raising=False)
    with mock_aws():
        create_table(boto3.client("dynamodb"), "documents", TENANT, DOCUMENT)
        yield


def maintenance(*words: str) -> None:
    application(["maintenance"])(["maintenance", *words], standalone_mode=False)


def begin(*reasons: str) -> None:
    for reason in reasons:
        maintenance("begin", "--reason", reason)


def under_way() -> set[str]:
    with activity_register(Path()) as register:
        return {each.reason for each in register.look().activities}


def test_a_deployment_that_ends_its_own_leaves_a_persons() -> None:
    begin(PATCH, STACK, STACK)
    maintenance("end", "--reason", STACK)
    assert under_way() == {PATCH}


def test_ending_one_of_several_maintenances_needs_its_reason() -> None:
    begin(PATCH, STACK)
    with pytest.raises(OperatorError, match=f"{PATCH}; {STACK}; name one with --reason"):
        maintenance("end")
    assert under_way() == {PATCH, STACK}


def test_the_only_one_needs_no_reason() -> None:
    begin(PATCH)
    maintenance("end")
    assert under_way() == set()


def test_a_reason_that_is_not_under_way_ends_nothing_and_names_those_that_are() -> None:
    begin(PATCH)
    with pytest.raises(OperatorError, match=f"--reason: .*{PATCH}"):
        maintenance("end", "--reason", "another")
    assert under_way() == {PATCH}
