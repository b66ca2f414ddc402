"""A side of each environment."""

from typing import Any

import pytest

from tests.synth.conftest import INTERNAL, Synthesised


@pytest.fixture(params=["local", "staging", "production"])
def environment(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def side(environment: str, synthesised: Synthesised) -> dict[str, Any]:
    """Blue of each environment; test_twins.py proves green equal."""
    return synthesised(environment)["blue"]


@pytest.fixture
def internal(synthesised: Synthesised) -> dict[str, Any]:
    """Blue of production, without an address on the internet."""
    return synthesised(INTERNAL)["blue"]


@pytest.fixture
def production(synthesised: Synthesised) -> dict[str, Any]:
    return synthesised("production")["blue"]
