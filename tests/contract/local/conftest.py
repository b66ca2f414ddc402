"""A side without programs; tests bring their own."""

from pathlib import Path

import pytest

from scripts.local.ports import free_base
from scripts.local.side import Side


@pytest.fixture
def side(tmp_path: Path) -> Side:
    found = Side(root=tmp_path / "side", port=free_base())
    found.create()
    return found
