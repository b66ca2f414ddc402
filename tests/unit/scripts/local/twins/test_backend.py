"""Two local sides behave as the deployer needs them, without their programs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.control.deploy.backend import Proof
from scripts.local.side import Code
from scripts.local.twins import backend
from scripts.local.twins.backend import LocalBackend
from scripts.local.twins.place import Twins

VERSION = "2.0"


class Programs:
    """A side's code, running or not."""

    def __init__(self, *_: object) -> None:
        self.down = False

    def parked(self) -> bool:
        return self.down

    def start(self, _: str) -> None:
        self.down = False

    def give_way(self) -> None:
        """Do nothing."""


class CountedProof:
    """A proof that failed the first time, as a side was down."""

    begun = 0

    def __init__(self, *_: object) -> None:
        CountedProof.begun += 1
        self._refused = int(CountedProof.begun == 1)

    def proof(self) -> Proof:
        return Proof(refused=self._refused)

    def end(self) -> None:
        """Do nothing."""


def test_the_proof_of_a_version_that_was_down_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides: dict[str, Any] = {}
    monkeypatch.setattr(backend, "CodeStart", lambda _, name, __: sides.setdefault(name, Programs()))
    monkeypatch.setattr(backend, "Proving", CountedProof)
    monkeypatch.setattr(CountedProof, "begun", 0)
    twins = Twins(root=tmp_path, partitions=1)
    twins.create()
    twins.edge.create()
    replace(twins.side("green"), code=Code(version=VERSION, source=tmp_path)).create()
    place = LocalBackend(twins, 0)
    assert place.prove("green", 20, fence=1).refused == 1
    place.start("green", VERSION, fence=1)
    assert place.prove("green", 20, fence=1).refused == 1, "it goes on"
    sides["green"].down = True
    place.start("green", VERSION, fence=1)
    assert place.prove("green", 20, fence=1).refused == 0
