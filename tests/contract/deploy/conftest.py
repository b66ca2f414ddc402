"""Fixtures that several modules of this folder share."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.contract.deploy.deployers import Deployers


@pytest.fixture
def deployers(dynamodb_local: str, tmp_path: Path) -> Iterator[Deployers]:
    """Deployers with a table of their own; they and their commands are killed at the end."""
    with ExitStack() as ending:
        yield Deployers(dynamodb_local, tmp_path, ending)
