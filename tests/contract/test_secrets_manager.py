"""Secrets from Secrets Manager, through a real socket."""

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest

from shared.contracts.secrets import UnknownSecretError
from shared.runtime.secret_stores import SecretsManager
from shared.runtime.secrets import SecretStoreError, SecretTable
from tests.harness.local_aws import REGION, client, local_aws
from tests.harness.scripted_server import Loop, Server, reply
from tests.harness.waiting import free_port


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of the service, configured by the environment."""
    with local_aws() as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        monkeypatch.setenv("AWS_REGION", REGION)
        monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        yield client("secretsmanager", url)


def test_a_sides_own_secrets_are_read_by_name_more_than_one_request_holds(manager: Any) -> None:
    names = [f"t/key{n}" for n in range(45)]
    for name in names:
        manager.create_secret(Name=f"hifi/blue/{name}", SecretString=f"value of {name}")
    manager.create_secret(Name="hifi/blue/bytes", SecretBinary=b"caf\xc3\xa9")
    manager.create_secret(Name="hifi/blue/no-text", SecretBinary=b"\xff")
    manager.create_secret(Name="hifi/green/other", SecretString="another side's")
    parts = list(SecretsManager("blue").fetch([*names, "bytes", "no-text", "other", "none"]))
    assert len(parts) > 1
    assert dict(chain.from_iterable(each.items() for each in parts)) == {
        name: f"value of {name}" for name in names
    } | {
        "bytes": "café",
        "no-text": None,
        "other": None,
        "none": None,
    }


def test_a_rotated_secret_and_a_deleted_one(manager: Any) -> None:
    for name in ("a", "b"):
        manager.create_secret(Name=f"hifi/blue/{name}", SecretString="old")
    store = SecretsManager("blue")
    assert list(store.fetch(["a", "b"])) == [{"a": "old", "b": "old"}]
    manager.put_secret_value(SecretId="hifi/blue/a", SecretString="new")
    manager.delete_secret(SecretId="hifi/blue/b", ForceDeleteWithoutRecovery=True)
    assert list(store.fetch(["a", "b"])) == [{"a": "new", "b": None}]


def test_a_secret_that_was_deleted_and_may_still_be_restored_is_in_force_no_more(manager: Any) -> None:
    """AWS keeps a deleted secret for 7 to 30 days, unless recovery is excluded."""
    for name in ("a", "b"):
        manager.create_secret(Name=f"hifi/blue/{name}", SecretString="old")
    manager.delete_secret(SecretId="hifi/blue/b", RecoveryWindowInDays=7)
    store = SecretsManager("blue")
    assert list(store.fetch(["a", "b"])) == [{"a": "old", "b": None}]
    manager.restore_secret(SecretId="hifi/blue/b")
    assert list(store.fetch(["a", "b"])) == [{"a": "old", "b": "old"}]


@pytest.mark.parametrize("code", ["DecryptionFailure", "AccessDeniedException", "InternalServiceError"])
def test_a_secret_that_cannot_be_read_now_is_not_missing(
    manager: Any, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    """moto returns none of these errors."""
    loop = Loop()
    server = Server(loop)
    values = [{"Name": "hifi/blue/a", "SecretString": "1"}]
    errors = [{"SecretId": "hifi/blue/b", "ErrorCode": code, "Message": "no"}]
    server.answer("/", reply(200, body=json.dumps({"SecretValues": values, "Errors": errors})))
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.port}")
    assert list(SecretsManager("blue").fetch(["a", "b"])) == [{"a": "1"}]
    server.close()
    loop.close()


def test_a_secret_is_there_as_soon_as_a_document_names_it(manager: Any) -> None:
    manager.create_secret(Name="hifi/blue/a", SecretString="1")
    secrets = SecretTable(SecretsManager("blue")).start()
    with pytest.raises(UnknownSecretError):
        secrets.get("secret://a")
    secrets.want({"a"})
    assert secrets.wait(60)
    assert secrets.get("secret://a") == "1"
    secrets.stop()


def test_a_service_that_is_not_there_is_an_error_that_names_it(
    manager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(SecretStoreError, match="Secrets Manager: EndpointConnectionError"):
        list(SecretsManager("blue").fetch(["a"]))
