"""Two local sides as the deployer needs them: pipelines/control/deploy/backend.py."""

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException

from pipelines.control.backends.letter_counter import letter_counter
from pipelines.control.backends.meter import minutes_of, stability_of
from pipelines.control.backends.remains import RemainsReader
from pipelines.control.backends.replicas import unsynced
from pipelines.control.backends.restoring import restore_side
from pipelines.control.backends.side_positions import SideBrokers, readable_side_positions, side_positions
from pipelines.control.deploy.backend import (
    NONE_PINNED,
    BackendError,
    Deployed,
    FencedError,
    Obstacle,
    Pinned,
    Proof,
    Rating,
    Readiness,
    Remains,
    SideMinute,
)
from scripts.local.side import Side
from scripts.local.twins.code_start import CodeStart
from scripts.local.twins.customers import key_digests
from scripts.local.twins.folder_checkpoints import FolderCheckpoints
from scripts.local.twins.load_test import LoadTest
from scripts.local.twins.observe import observe_of
from scripts.local.twins.obstacle_looks import ObstacleLooks
from scripts.local.twins.obstacles import version_obstacles
from scripts.local.twins.place import Twins
from scripts.local.twins.programs import FOLDER, WARM_UP
from scripts.local.twins.proving import Proving
from scripts.local.twins.traffic import LocalTraffic, PinnedTenant, sides_with_events
from scripts.local.twins.usage import usage_of
from scripts.local.twins.versions import CHECKOUT
from scripts.local.warmup.warmup import WARM_UP_SECONDS
from shared.contracts.canary_pause import PAUSE_SECONDS
from shared.contracts.diamond.stability import Stability
from shared.contracts.document_items import DOCUMENTS_TABLE
from shared.contracts.releases import Positions
from shared.contracts.side_weights import SIDES, WrongWeightsError
from shared.dynamodb.client import StoreError
from shared.dynamodb.document_reader import DocumentReader
from shared.runtime.errors import OperatorError


def local_backend() -> "LocalBackend":
    """The twins that the environment names.

    Raises:
        BackendError: if it names none.
    """
    folder = os.environ.get(FOLDER)
    if not folder:
        raise BackendError(f"{FOLDER} is not set: name the folder of `hifi up --twins`")
    with _explained():
        return LocalBackend(Twins.load(Path(folder)), float(os.environ.get(WARM_UP, WARM_UP_SECONDS)))


_MARKING: Final = "shared/contracts/replay_range.py"
"""A version without it marks nothing."""


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except (
        OperatorError,
        WrongWeightsError,
        KafkaException,
        StoreError,
        TimeoutError,
        OSError,
        ValueError,
    ) as error:
        raise BackendError(str(error)) from error


def _marks(serving: Side) -> bool:
    """Whether the version that a side runs can mark what it processes again."""
    return (((serving.code.source if serving.code else None) or CHECKOUT) / _MARKING).exists()


def _without_keys(digests: Mapping[str, Sequence[str]]) -> str:
    """Which tenants the edge cannot recognise, in words; empty if each has a write key."""
    strange = [tenant for tenant, keys in digests.items() if not keys]
    return f"canary_tenants: no write key of {', '.join(strange)} is known" if strange else ""


class LocalBackend:
    """Two local sides and the edge before them. Belongs to one thread."""

    def __init__(self, twins: Twins, warm_up_seconds: float) -> None:
        """After a `gentle(warm_up_seconds)` warm-up a side is ready, however slow it is."""
        self._twins, self._traffic = twins, LocalTraffic(twins)
        self._code = {name: CodeStart(twins, name, warm_up_seconds) for name in SIDES}
        self._usage = {name: usage_of(twins.side(name)) for name in SIDES}
        self._proofs: dict[str, tuple[str, Proving]] = {}
        self._load_tests = {name: LoadTest(twins.side(name), twins.root / name) for name in SIDES}
        self._remains = {name: RemainsReader(twins.side(name).bootstrap) for name in SIDES}
        self._letters = {name: letter_counter(twins.side(name).bootstrap) for name in SIDES}
        self._documents = DocumentReader(DOCUMENTS_TABLE, twins.edge.store_url)
        self._obstacles = ObstacleLooks(self._look)

    def sides(self) -> tuple[str, str]:
        """Their names."""
        return SIDES

    def deployed(self, side: str) -> Deployed:
        """The version of the code that a side has, and whether it is parked."""
        with _explained():
            code = self._side(side).code
            return Deployed(version=code.version if code else "", parked=self._code[side].parked())

    def obstacles(self, side: str, version: str) -> Sequence[Obstacle] | None:
        """Why a version cannot be released to a side now; None while that is being found out."""
        with _explained():
            looked = self._obstacles.found(side, version)
            return None if looked is None else [*looked, *self.passing(side)]

    def closed(self, side: str) -> str:  # noqa: ARG002  # the protocol's
        """Empty: a local side is always open."""
        return ""

    def passing(self, side: str) -> Sequence[Obstacle]:
        """Replicas that are not in sync: a broker was stopped, or is being started."""
        with _explained():
            return unsynced(self._side(side).bootstrap, side)

    def unstartable(self, side: str, version: str) -> str:
        """Why a version could not be started on a side, in words; empty if its files are there."""
        with _explained():
            return self._code[side].unstartable(version)

    def start(self, side: str, version: str, *, fence: int) -> None:
        """Replace the code of a side by a version, and start it; a parked side wakes up."""
        with _explained(), self._fenced(fence):
            code = self._side(side).code
            if code is None or code.version != version or self._code[side].parked():
                self._end_proof(side)  # also if the same one is started again: its events were refused
            if side not in self._traffic.state().open_sides:
                self._code[side].give_way()  # the other side's events are due within a second
            self._code[side].start(version)

    def readiness(self, side: str) -> Readiness:
        """Whether a side could take traffic."""
        with _explained():
            found = self._code[side].waiting_for()
            return Readiness(
                ready=not found,
                waiting_for=tuple(found),
                crashes=self._code[side].crashes(),
            )

    def park(self, side: str, *, fence: int) -> None:
        """Stop all code of a side. What it took stays in its topics."""
        with _explained(), self._fenced(fence):
            self._end_proof(side)
            self._code[side].give_way()
            self._code[side].park()

    def positions(self, side: str) -> Positions:
        """Where every query and every group of a side stands; of a parked side too."""
        with _explained():
            place = self._side(side)
            return side_positions(SideBrokers(place.bootstrap), FolderCheckpoints(place.checkpoints))

    def readable_positions(self, side: str) -> Positions:
        """Like `positions`, but skips queries with a checkpoint that cannot be decoded."""
        with _explained():
            place = self._side(side)
            return readable_side_positions(SideBrokers(place.bootstrap), FolderCheckpoints(place.checkpoints))

    def restore(self, side: str, positions: Positions, *, replayed: Positions | None, fence: int) -> None:
        """Let the code that is started next on a parked side begin at these positions.

        Raises:
            CannotReplayError: if `replayed` is given, and the records cannot be marked, or are gone.
        """
        with _explained(), self._fenced(fence):
            if not self._code[side].parked():
                raise BackendError(f"{side} is not parked: its positions would move")
            place, checkpoints = self._side(side), FolderCheckpoints(self._side(side).checkpoints)
            marks = _marks(self._other(side))
            restore_side(place.bootstrap, checkpoints, positions, replayed, marks=marks)

    def prove(self, side: str, events: int, *, fence: int) -> Proof:
        """Send events through this side only, and compare what arrives."""
        with _explained(), self._fenced(fence):
            version = self.deployed(side).version
            if self._proofs.get(side, ("",))[0] != version:
                self._end_proof(side)
                self._proofs[side] = (version, Proving(self._side(side), events))
            try:
                proof = self._proofs[side][1].proof()
            except Exception:
                self._end_proof(side)  # the next call begins another one
                raise
            if proof.arrived >= events:
                self._proofs[side][1].finish()
            return proof

    def rating(self, side: str) -> Rating | None:
        """The newest load test of a side; None if there was none."""
        with _explained():
            return self._load_tests[side].rating()

    def begin_load_test(self, side: str, *, fence: int) -> None:
        """Begin a load test, unless one is running."""
        with _explained(), self._fenced(fence):
            self._end_proof(side)
            self._load_tests[side].begin(self.deployed(side).version)

    def weights(self) -> Mapping[str, int]:
        """How the traffic is shared now."""
        with _explained():
            return self._traffic.state().weights

    def pinned(self) -> Pinned:
        """The side that a tenant's events go to whatever the weights are, by tenant."""
        with _explained():
            return {tenant: each.side for tenant, each in self._traffic.state().pinned.items()}

    def unroutable(self, tenants: Sequence[str]) -> str:
        """Why the events of these tenants cannot be sent to one side: the edge knows them by their keys."""
        with _explained():
            return _without_keys(key_digests(self._documents, tenants))

    def set_weights(self, weights: Mapping[str, int], *, pinned: Pinned = NONE_PINNED, fence: int) -> None:
        """Share the traffic otherwise; in force for the next request when this returns.

        A side that is sent events does not give way to the other one any more: it is judged by them.
        """
        with _explained(), self._fenced(fence):
            keys = key_digests(self._documents, pinned)
            if problem := _without_keys(keys):
                raise BackendError(problem)
            tenants = {
                tenant: PinnedTenant(side=side, keys=list(keys[tenant])) for tenant, side in pinned.items()
            }
            for side in sides_with_events(weights, pinned.values()):
                self._code[side].take_part()
            self._traffic.set_weights(weights, pinned=tenants)

    def minutes(self, side: str, first: int, last: int) -> Sequence[SideMinute]:
        """Minutes with deliveries, settled or not, `first` and `last` included, oldest first."""
        with _explained():
            self._usage[side].look()
            return minutes_of(observe_of(self._side(side)), first, last, self._usage[side].of)

    def pause_canary(self, side: str, *, fence: int) -> None:
        """Let the side's canary send nothing for a minute."""
        with _explained(), self._fenced(fence):
            self._code[side].pause_canary(PAUSE_SECONDS)

    def remains(self, side: str) -> Remains:
        """The work that a side has still to settle."""
        with _explained():
            return self._remains[side].read()

    def dead_letters(self, side: str) -> Mapping[str, int] | None:
        """Dead letters that were not replayed, by reason; None while they are being counted."""
        with _explained():
            return self._letters[side].count()

    def stability(self, side: str, since: int = 0) -> Stability:
        """A side's stability since an epoch minute, as observe sees it; SILENT if that does not answer."""
        return stability_of(observe_of(self._side(side)), since)

    def _side(self, name: str) -> Side:
        return self._twins.side(name)

    def _other(self, name: str) -> Side:
        (other,) = (each for each in SIDES if each != name)
        return self._side(other)

    def _look(self, side: str, version: str) -> Sequence[Obstacle]:
        return version_obstacles(version, self._code[side].versions, self._side(side), self._other(side))

    def _end_proof(self, side: str) -> None:
        found = self._proofs.pop(side, None)
        if found is not None:
            found[1].end()

    @contextmanager
    def _fenced(self, fence: int) -> Iterator[None]:
        """Keep callers with a lower fence out, until the block ends."""
        with (self._twins.edge.root / "fence").open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            seen = int(file.read() or 0)
            if fence < seen:
                raise FencedError(f"fence {fence} is over: {seen} was seen")
            if fence > seen:
                file.truncate(0)
                file.write(str(fence))
                file.flush()
            yield
