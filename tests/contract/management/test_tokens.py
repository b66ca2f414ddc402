"""Tokens, limits, and settings that the process refuses at its start."""

import os
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3
import pytest

from pipelines.management.api.rights.token_store import MOST_FORGOTTEN, MOST_TOKENS, TokenStore
from pipelines.management.api.rights.tokens import new_token
from shared.contracts.api_answers.access import Role
from shared.contracts.documents import OWN_TENANTS
from shared.contracts.envelope import DAY_MS
from tests.contract.management.api_process import NEW, START_SECONDS, ApiProcess, destination
from tests.harness.waiting import eventually, free_port

LIST = "/v1/tenants/acme/destinations"


def test_the_first_operator_token_is_in_a_file_that_only_its_user_reads(api: ApiProcess) -> None:
    assert stat.S_IMODE(api.token_file.stat().st_mode) == 0o600
    assert api.ask("GET", "/v1/whoami").json["role"] == "operator"


def test_a_restart_makes_no_second_operator(dynamodb_local: str, tmp_path: Path) -> None:
    process = ApiProcess(tmp_path, dynamodb_local)
    try:
        process.kill()
        process.restart()
        eventually(process.ready, START_SECONDS)
        assert process.token_file.read_text().strip() == process.operator
        assert len(process.ask("GET", "/v1/tokens").json["items"]) == 1
    finally:
        process.kill()


def test_a_revoked_token_is_refused_at_once(api: ApiProcess) -> None:
    made = api.ask("POST", "/v1/tenants/acme/tokens", {"role": "viewer", "label": "x"}).json
    assert api.ask("GET", LIST, token=made["token"]).status == 200
    assert api.ask("DELETE", f"/v1/tenants/acme/tokens/{made['id']}").status == 204
    assert api.ask("GET", LIST, token=made["token"]).status == 401


def test_a_token_ends_when_its_time_is_over(api: ApiProcess) -> None:
    token = api.token("acme", "viewer", days=1 / 86_400)
    eventually(lambda: api.ask("GET", LIST, token=token).status == 401, 60)


def test_the_table_holds_no_token_and_no_write_key(api: ApiProcess) -> None:
    token = api.token("acme", "owner")
    key = api.ask("PUT", "/v1/tenants/acme/sources/acme.s", {}, NEW).json["write_key"]
    client = boto3.client(
        "dynamodb",
        endpoint_url=api.endpoint,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )
    text = str(list(client.get_paginator("scan").paginate(TableName=api.table)))
    assert "tokens#" in text
    assert not any(secret in text for secret in (token, key, api.operator))
    assert not any(secret in api.log.read_text() for secret in (token, key, api.operator))


def test_nobody_makes_a_token_above_the_own_role(api: ApiProcess) -> None:
    owner = api.token("acme", "owner")
    asked = {"role": "operator", "label": "up"}
    assert api.ask("POST", "/v1/tenants/acme/tokens", asked, token=owner).status == 403
    assert api.ask("POST", "/v1/tokens", asked, token=owner).status == 403
    assert api.ask("POST", "/v1/tenants/acme/tokens", asked).status == 422


@pytest.mark.parametrize("tenant", sorted(OWN_TENANTS))
def test_hifis_own_tenants_get_no_tokens(api: ApiProcess, tenant: str) -> None:
    path = f"/v1/tenants/{tenant}/tokens"
    refused = api.ask("POST", path, {"role": "owner", "label": "x"})
    assert (refused.status, "hifi's own" in refused.text) == (409, True), refused.text
    assert api.ask("GET", path).json["items"] == []


def test_a_tenant_has_a_hundred_valid_tokens_at_most_even_if_many_ask_at_once(api: ApiProcess) -> None:
    path, asked = "/v1/tenants/many/tokens", {"role": "viewer", "label": "x"}
    api.token("many", "viewer", days=1 / 86_400)
    eventually(lambda: api.ask("GET", path).json["items"][0]["expires_ms"] < time.time() * 1_000, 60)
    for _ in range(MOST_TOKENS - 2):
        api.token("many", "viewer")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: api.ask("POST", path, asked), range(16)))
    assert {each.status for each in answers} <= {201, 409}
    while (refused := api.ask("POST", path, asked)).status == 201:
        pass
    assert (refused.status, "100 tokens are valid here" in refused.text) == (409, True)
    assert "revoke one" in refused.json["detail"]
    first = api.ask("GET", path).json
    rest = api.ask("GET", f"{path}?cursor={first['next']}").json
    assert (len(first["items"]), rest["next"]) == (100, None), "in pages, as other lists"
    valid = [each for each in [*first["items"], *rest["items"]] if each["expires_ms"] is None]
    assert len(valid) == MOST_TOKENS
    assert api.ask("DELETE", f"{path}/{valid[0]['id']}").status == 204
    assert api.ask("POST", path, asked).status == 201
    assert api.ask("POST", "/v1/tenants/another/tokens", asked).status == 201


def test_expired_tokens_do_not_fill_the_table(api: ApiProcess) -> None:
    path = "/v1/tenants/brief/tokens"
    store = TokenStore.of_table(api.table, api.endpoint)
    for n in range(MOST_TOKENS + MOST_FORGOTTEN + 10):
        text, token = new_token(Role.VIEWER, "brief", label="x", by="x", now_ms=n, days=1 / DAY_MS)
        store.keep(text, token)
    for _ in range(2):
        api.token("brief", "viewer")
    kept = api.ask("GET", f"{path}?limit=200").json["items"]
    assert len(kept) == MOST_TOKENS + 2
    assert min(each["made_ms"] for each in kept) == MOST_FORGOTTEN + 10


def test_too_large_a_body_and_too_many_requests_are_refused(dynamodb_local: str, tmp_path: Path) -> None:
    process = ApiProcess(tmp_path, dynamodb_local, token_rate="0.1", body_bytes="2048")
    try:
        large = {**destination(), "options": {"url": "x" * 4096}}
        assert process.ask("PUT", f"{LIST}/acme.d", large, NEW).status == 413
        answers = [process.ask("GET", LIST) for _ in range(15)]
        refused = [each for each in answers if each.status == 429]
        assert refused and int(refused[0].headers["retry-after"]) >= 1
    finally:
        process.kill()


def test_it_refuses_to_start_beyond_loopback_without_tls(dynamodb_local: str) -> None:
    env = os.environ | {
        "HIFI_HOST": "0.0.0.0",
        "HIFI_PORT": str(free_port()),
        "HIFI_DOCUMENTS_ENDPOINT": dynamodb_local,
    }
    command = [sys.executable, "-m", "pipelines.management.api"]
    ended = subprocess.run(command, env=env, capture_output=True, timeout=START_SECONDS, check=False)
    assert ended.returncode == 2
    assert b"HIFI_TLS_CERTIFICATE" in ended.stderr
