"""Two sides in AWS as the deployer needs them: pipelines/control/deploy/backend.py."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from confluent_kafka import KafkaException

from pipelines.control.backends.aws.eks import eks_api
from pipelines.control.backends.aws.fenced_weights import FencedWeights, closed_text
from pipelines.control.backends.aws.maintenance import maintenance
from pipelines.control.backends.aws.readability import Readability
from pipelines.control.backends.aws.s3_checkpoints import S3Checkpoints
from pipelines.control.backends.aws.settings import AwsSettings
from pipelines.control.backends.aws.side_code import SideCode
from pipelines.control.backends.aws.versions import VersionStore
from pipelines.control.backends.aws.weighted_records import NoRecordsError, Traffic, TrafficSettings
from pipelines.control.backends.aws.workloads import CANARY
from pipelines.control.backends.canary_metrics import changed_events, proof
from pipelines.control.backends.checkpoints import Offsets, query_positions
from pipelines.control.backends.letter_counter import letter_counter
from pipelines.control.backends.meter import minutes_of, stability_of
from pipelines.control.backends.minute_readings import MinuteReadings, Reading
from pipelines.control.backends.remains import RemainsReader
from pipelines.control.backends.replicas import unsynced
from pipelines.control.backends.restoring import restore_side
from pipelines.control.backends.side_positions import SideBrokers, readable_side_positions, side_positions
from pipelines.control.deploy.backend import (
    NONE_PINNED,
    BackendError,
    Deployed,
    Obstacle,
    Pinned,
    Proof,
    Rating,
    Readiness,
    Remains,
    SideMinute,
)
from shared.contracts.canary_pause import PAUSE_SECONDS
from shared.contracts.diamond.stability import Stability
from shared.contracts.releases import Positions
from shared.contracts.side_weights import SIDES, WrongWeightsError
from shared.contracts.topology import INPUTS
from shared.dynamodb.client import StoreError
from shared.runtime.clock import wall_clock

_OBSERVE = "observe"
_QUICK = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 2})


def aws_backend() -> "AwsBackend":
    """The sides that the environment names."""
    return AwsBackend(AwsSettings())  # type: ignore[call-arg]  # from the environment


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except (
        BotoCoreError,
        ClientError,
        KafkaException,
        NoRecordsError,
        OSError,
        StoreError,
        TimeoutError,
        ValueError,
        WrongWeightsError,
    ) as error:
        raise BackendError(str(error)) from error


class AwsBackend:
    """Two sides of an environment in AWS, and the edge before them. Belongs to one thread."""

    def __init__(
        self,
        settings: AwsSettings,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is asked before the first call; `clock` gives epoch seconds."""
        self._settings, self._session = settings, boto3.Session(region_name=settings.aws_region)
        self._s3, self._eks, self._kafka = (self._client(each) for each in ("s3", "eks", "kafka"))
        self._versions = VersionStore(self._s3, settings.aws_versions, settings.bootstrap)
        self._traffic = FencedWeights(
            Traffic(_traffic_settings(settings), self._client("ssm"), self._client("route53")),
            settings.documents_table,
            settings.documents_endpoint,
            lambda side: self._code(side).takes_events(),
        )
        self._codes: dict[str, SideCode] = {}
        self._readability = Readability(
            self._versions.manifests, lambda side: self._code(side).questions, self._query_positions
        )
        self._remains = {side: RemainsReader(settings.bootstrap(side)) for side in SIDES}
        self._letters = {side: letter_counter(settings.bootstrap(side)) for side in SIDES}
        self._readings = {
            side: MinuteReadings(partial(self._reading, side), clock, monotonic) for side in SIDES
        }

    def sides(self) -> tuple[str, str]:
        """Their names."""
        return SIDES

    def deployed(self, side: str) -> Deployed:
        """A side's version, and whether it is parked."""
        with _explained():
            return self._code(side).deployed()

    def obstacles(self, side: str, version: str) -> Sequence[Obstacle] | None:
        """Why a version cannot be released to a side now; None while it is asked what it reads."""
        with _explained():
            # First, and without asking its brokers, which may be away while its stack is changed.
            why = self.closed(side)
            closed = [Obstacle(text=why, lasting=False)] if why else []
            if self._versions.manifests(version, side) is None:
                return [*closed, Obstacle(text=f"there is no version {version} for {side}", lasting=True)]
            return closed or self.passing(side) or self._unread(side, version)

    def closed(self, side: str) -> str:
        """Why a side takes no traffic until it is opened, in words; empty if it is open. One request."""
        with _explained():
            return closed_text(side) if side in self._traffic.closed() else ""

    def passing(self, side: str) -> Sequence[Obstacle]:
        """Obstacles while AWS or the brokers are busy: four requests, and one more per group of nodes."""
        with _explained():
            kafka, cluster = self._settings.kafka(side), self._settings.cluster(side)
            changed = maintenance(self._kafka, kafka, self._eks, cluster)
            return [*changed, *unsynced(self._settings.bootstrap(side), side)]

    def unstartable(self, side: str, version: str) -> str:
        """Why a version could not be started on a side, in words; empty if it is stored for it."""
        with _explained():
            if self._versions.manifests(version, side) is not None:
                return ""
            return (
                f"there is no version {version} for {side}; store it again under this name: "
                f"scripts/release/publish_version.sh {version}"
            )

    def start(self, side: str, version: str, *, fence: int) -> None:
        """Replace the code of a side by a version, and start it; a parked side wakes up."""
        with _explained():
            self._traffic.claim(fence)
            self._code(side).start(version, fence)

    def readiness(self, side: str) -> Readiness:
        """Whether a side could take traffic."""
        with _explained():
            return self._code(side).readiness()

    def park(self, side: str, *, fence: int) -> None:
        """Stop all code of a side. What it took stays in its topics."""
        with _explained():
            self._traffic.claim(fence)
            self._code(side).park(fence)

    def positions(self, side: str) -> Positions:
        """Where every query and every group of a side stands; of a parked side too."""
        with _explained():
            return side_positions(SideBrokers(self._settings.bootstrap(side)), self._checkpoints(side))

    def readable_positions(self, side: str) -> Positions:
        """Like `positions`, but skips queries with a checkpoint that cannot be decoded."""
        with _explained():
            brokers = SideBrokers(self._settings.bootstrap(side))
            return readable_side_positions(brokers, self._checkpoints(side))

    def restore(self, side: str, positions: Positions, *, replayed: Positions | None, fence: int) -> None:
        """Let the code that is started next on a parked side begin at these positions.

        Raises:
            CannotReplayError: if `replayed` is given, and the records cannot be marked, or are gone.
        """
        with _explained():
            code = self._claimed(side, fence)
            if not code.deployed().parked:
                raise BackendError(f"{side} is not parked: its positions would move")
            bootstrap = self._settings.bootstrap(side)
            restore_side(bootstrap, self._checkpoints(side), positions, replayed, marks=True)

    def prove(self, side: str, events: int, *, fence: int) -> Proof:  # noqa: ARG002  # the protocol's
        """The outcome of the events that the side's own canary sends, which began with the version."""
        with _explained():
            return proof(self._claimed(side, fence).ask(CANARY, "/metrics").decode())

    def rating(self, side: str) -> Rating | None:  # noqa: ARG002  # the protocol's
        """None: nothing in a side's cluster makes a load."""
        return None

    def begin_load_test(self, side: str, *, fence: int) -> None:
        """Raises BackendError: releases in AWS go without a load test (HIFI_RATING_DAYS=0)."""
        with _explained():
            self._claimed(side, fence)
            raise BackendError(f"nothing can load {side}: set HIFI_RATING_DAYS=0")

    def weights(self) -> Mapping[str, int]:
        """How the traffic is shared now."""
        with _explained():
            return self._traffic.weights()._asdict()

    def pinned(self) -> Pinned:
        """None: AWS cannot pin a tenant."""
        return NONE_PINNED

    def unroutable(self, tenants: Sequence[str]) -> str:  # noqa: ARG002  # the protocol's
        """Why not: what shares the traffic sees connections, and no key."""
        return (
            "canary_tenants: Route 53 and a network load balancer share traffic without knowing whose it is; "
            "deploy without it, HIFI_CANARY_PERCENT is the first share"
        )

    def set_weights(self, weights: Mapping[str, int], *, pinned: Pinned = NONE_PINNED, fence: int) -> None:
        """Share the traffic otherwise; Route 53 answers by it when this returns."""
        if pinned:
            raise BackendError(self.unroutable(list(pinned)))
        with _explained():
            self._traffic.set_weights(weights, fence)

    def minutes(self, side: str, first: int, last: int) -> Sequence[SideMinute]:
        """Minutes with deliveries, settled or not, `first` and `last` included, oldest first.

        What the pods used in them is not known.
        """
        with _explained():
            readings = self._readings[side]
            readings.look()
            return minutes_of(partial(self._observed, side), first, last, readings.of)

    def pause_canary(self, side: str, *, fence: int) -> None:
        """Let the side's canary send nothing for a minute."""
        with _explained():
            self._traffic.claim(fence)
            self._code(side).pause_canary(PAUSE_SECONDS, fence)

    def remains(self, side: str) -> Remains:
        """Records and events that a side has still to settle."""
        with _explained():
            return self._remains[side].read()

    def dead_letters(self, side: str) -> Mapping[str, int] | None:
        """Dead letters that were not replayed, by reason; None while they are being counted."""
        with _explained():
            return self._letters[side].count()

    def stability(self, side: str, since: int = 0) -> Stability:
        """Observe's judgement of a side since an epoch minute; SILENT if it does not answer."""
        return stability_of(partial(self._observed, side), since)

    def _observed(self, side: str, path: str) -> bytes:
        with _explained():
            return self._code(side).ask(_OBSERVE, path)

    def _reading(self, side: str) -> Reading:
        """The canary's count of events that arrived changed; unknown if it does not answer."""
        try:
            with _explained():
                return Reading(changed=changed_events(self._code(side).ask(CANARY, "/metrics").decode()))
        except BackendError:
            return Reading()

    def _client(self, service: str) -> Any:
        return self._session.client(service, endpoint_url=self._settings.aws_endpoint, config=_QUICK)

    def _unread(self, side: str, version: str) -> Sequence[Obstacle] | None:
        runs = {each: self._code(each).ran() for each in SIDES}
        (serving,) = (runs[each] for each in SIDES if each != side)
        return self._readability.obstacles(version, side, runs, serving)

    def _query_positions(self, side: str) -> Mapping[str, Offsets]:
        return query_positions(self._checkpoints(side), INPUTS)

    def _checkpoints(self, side: str) -> S3Checkpoints:
        return S3Checkpoints(self._s3, self._settings.aws_checkpoints, side)

    def _claimed(self, side: str, fence: int) -> SideCode:
        """The code of a side, from which deployers with a lower fence are kept away; of all else too."""
        self._traffic.claim(fence)
        code = self._code(side)
        code.claim(fence)
        return code

    def _code(self, side: str) -> SideCode:
        if side not in self._codes:
            cluster, region = self._settings.cluster(side), self._settings.aws_region
            kube = eks_api(self._session, self._eks, cluster, region)
            self._codes[side] = SideCode(kube, self._versions, side, wall_clock)
        return self._codes[side]


def _traffic_settings(settings: AwsSettings) -> TrafficSettings:
    return TrafficSettings(
        region=settings.aws_region,
        zone=settings.aws_zone,
        host=settings.aws_events_host,
        management_hosts=tuple(settings.aws_management_hosts.split(",")),
        weights_parameter=settings.aws_weights_parameter,
        closed_parameter=settings.aws_closed_parameter,
        endpoint=settings.aws_endpoint,
    )
