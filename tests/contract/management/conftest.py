"""API processes over DynamoDB Local."""

from collections.abc import Iterator

import pytest

from tests.contract.management.api_process import ApiProcess


@pytest.fixture(scope="module")
def api(dynamodb_local: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiProcess]:
    """One process for the tests of a module, which use tenants of their own."""
    process = ApiProcess(tmp_path_factory.mktemp("api"), dynamodb_local)
    yield process
    process.kill()
