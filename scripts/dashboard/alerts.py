"""Prometheus' alert rules about hifi's processes.

They are for operators. Of losses, doubles and spent minutes observe itself sends alarms, with their ids.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from pipelines.control.deploy.policy import Policy
from scripts.dashboard.promql import series, total
from shared.contracts.release_steps import BACKWARD, Step
from shared.contracts.topics import RETRY_DELAYS, Topic
from shared.runtime.metrics import CanaryMetric, CollectMetric, DeployMetric, ObserveMetric, SparkMetric

_WINDOW: Final = "5m"
_MARGIN_SECONDS: Final = 60
_FAILED: Final = '{status=~"5.."}'
_STEPS: Final = "docs/operations.md"
"""The page that has a section for each rule. Not in `runbook_url`, which has to be a URL: no file of this
repository says where it is published. Alertmanager's message has summary and description only."""


class Severity(StrEnum):
    """The urgency of an alert: whether a person has to look at once."""

    CRITICAL = "critical"
    WARNING = "warning"


@dataclass(frozen=True, kw_only=True)
class Alert:
    """One rule."""

    name: str
    expression: str
    minutes: int
    """Minutes that the condition must hold."""

    severity: Severity
    summary: str
    """The problem; the text may use the series' labels."""

    description: str
    """The meaning of the alert, and the first thing to do."""

    @property
    def steps(self) -> str:
        """Where the steps are: the heading of the page, as GitHub makes its anchor."""
        return f"{_STEPS}#{self.name.lower()}"


def _rate(counter: StrEnum, selector: str = "") -> str:
    return f"rate({counter}_total{selector}[{_WINDOW}])"


def _p95(histogram: StrEnum) -> str:
    return f"histogram_quantile(0.95, sum by (le) (rate({histogram}_bucket[{_WINDOW}])))"


def _overdue(topic: Topic, delay: timedelta) -> str:
    """Later than retry spreads a burst by itself: over half of the topic's delay."""
    seconds = delay.total_seconds() / 2 + _MARGIN_SECONDS
    return f"max by (topic) ({series(ObserveMetric.OVERDUE, topic=topic)}) > {seconds:.0f}"


def _stands(seconds: int, *steps: Step) -> str:
    names = "|".join(sorted(steps))
    return f"max by (step) ({series(DeployMetric.STEP_SECONDS, step=f'~{names}')}) > {seconds}"


_QUICK_STEPS: Final = frozenset({*BACKWARD, Step.BOTH, Step.PARK}) - {Step.CATCH_UP}
"""They take minutes, and a release stays in one that does not succeed. Of the others, those forward fail by
themselves at their limit; before the first of them a release may wait."""

_DRAIN_SECONDS: Final = Policy().retries_seconds + 3_600
"""Retries that are not due keep a side for the former; what is left an hour later is not read."""

_SIDE_IS_UP: Final = f"count({series(CollectMetric.READY)} == 1) > 0"
"""A parked side has no collect, and its silence is intended."""

ALERTS: Final = (
    Alert(
        name="HifiNotReady",
        expression='min by (job, instance) ({__name__=~"hifi_.+_ready"}) == 0',
        minutes=10,
        severity=Severity.CRITICAL,
        summary="{{ $labels.instance }} is not ready",
        description="Its log says what it waits for: `kubectl -n hifi logs {{ $labels.instance }}`.",
    ),
    Alert(
        name="HifiRequestsFail",
        expression=(
            f"{total(_rate(CollectMetric.REQUESTS, _FAILED))} / {total(_rate(CollectMetric.REQUESTS))} > 0.01"
        ),
        minutes=5,
        severity=Severity.CRITICAL,
        summary="collect answers {{ $value | humanizePercentage }} of requests with 5xx",
        description="Customers repeat them. Kafka acknowledges too slowly, or collect has too little memory.",
    ),
    Alert(
        name="HifiAcknowledgementsSlow",
        expression=f"{_p95(CollectMetric.ACK_SECONDS)} > 1",
        minutes=10,
        severity=Severity.WARNING,
        summary="p95 of Kafka's acknowledgements is {{ $value | humanizeDuration }}",
        description="Look at the brokers' CPU and disks: no event leaves within a second like this.",
    ),
    Alert(
        name="HifiQueryStands",
        expression=(
            f"({series(SparkMetric.PROGRESS_AGE)} > 300) and on (query) "
            f"({total(series(SparkMetric.LAG), 'query')} > 0)"
        ),
        minutes=5,
        severity=Severity.CRITICAL,
        summary="{{ $labels.query }} has ended no batch for {{ $value | humanizeDuration }}",
        description="Records wait for it. Are there six Spark workers, and is its driver alive?",
    ),
    Alert(
        name="HifiRetriesLate",
        expression=" or ".join(_overdue(topic, delay) for topic, delay in RETRY_DELAYS.items()),
        minutes=10,
        severity=Severity.WARNING,
        summary="the first record of {{ $labels.topic }} was due {{ $value | humanizeDuration }} ago",
        description="retry does not keep up with the records that wait, or does not read a partition.",
    ),
    Alert(
        name="HifiMeterBehind",
        expression=f"{series(ObserveMetric.BEHIND_SECONDS)} > 300",
        minutes=5,
        severity=Severity.CRITICAL,
        summary="The meter is {{ $value | humanizeDuration }} behind",
        description="Until it has caught up, losses are found late. Look at audit's and observe's logs.",
    ),
    Alert(
        name="HifiMeterMissing",
        # One that restarts again and again, or has ended its work, has metrics; it is never ready for long.
        expression=f"absent({series(ObserveMetric.READY)} == 1) and on () ({_SIDE_IS_UP})",
        minutes=10,
        severity=Severity.CRITICAL,
        summary="no observe is at work",
        description="The side takes events, and neither losses nor late events are noticed.",
    ),
    Alert(
        name="HifiCanaryMissing",
        expression=f"{total(series(CanaryMetric.MISSING), 'pipe')} > 0",
        minutes=5,
        severity=Severity.CRITICAL,
        summary="{{ $value }} events of {{ $labels.pipe }} were acknowledged and have not arrived",
        description="Customers' events through such a pipe may not arrive either.",
    ),
    Alert(
        name="HifiCanaryWrong",
        expression=f"increase({CanaryMetric.WRONG}_total[10m]) > 0",
        minutes=0,
        severity=Severity.CRITICAL,
        summary="An event of {{ $labels.pipe }} arrived changed",
        description="A release may alter customers' data: take it back.",
    ),
    Alert(
        name="HifiReleaseStands",
        expression=" or ".join(
            (
                _stands(1_800, *_QUICK_STEPS),
                _stands(14_400, Step.CATCH_UP),
                _stands(_DRAIN_SECONDS, Step.DRAIN),
            )
        ),
        minutes=0,
        severity=Severity.WARNING,
        summary="The release has been in the step {{ $labels.step }} for {{ $value | humanizeDuration }}",
        description="It does not end by itself, and no other begins. `hifi sides` says what it waits for.",
    ),
)


def rules() -> dict[str, Any]:
    """The rules as Prometheus' operator takes them."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "hifi"},
        "spec": {"groups": [{"name": "hifi", "rules": [_rule(alert) for alert in ALERTS]}]},
    }


def _rule(alert: Alert) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": f"{alert.minutes}m",
        "labels": {"severity": alert.severity.value},
        "annotations": {
            "summary": alert.summary,
            "description": f"{alert.description} See {alert.steps}.",
        },
    }
