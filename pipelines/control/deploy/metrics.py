"""The deployer's Prometheus metrics; their names are in shared/runtime/metrics.py."""

from functools import partial

from prometheus_client import Gauge

from shared.contracts.release_steps import Step
from shared.contracts.releases import Release
from shared.runtime.clock import Clock
from shared.runtime.metrics import DeployMetric
from shared.runtime.process_metrics import process_registry


class DeployMetrics:
    """Gauges of the newest release and of this process, in a registry of their own."""

    def __init__(self, clock: Clock) -> None:
        """`clock` measures the time in a step, so that it goes on while the table is away."""
        self._clock = clock
        self._release: Release | None = None
        self.registry = into = process_registry("deploy")
        self._step = Gauge(DeployMetric.STEP, "1 for the present step of a release", ["step"], registry=into)
        self._waits = Gauge(DeployMetric.WAITS, "Reasons for which a release waits", registry=into)
        self._number = Gauge(DeployMetric.NUMBER, "Number of the newest release", registry=into)
        self.leader = Gauge(DeployMetric.LEADER, "1 when this process leads", registry=into)
        self.ready = Gauge(DeployMetric.READY, "1 when ready", registry=into)
        seconds = Gauge(DeployMetric.STEP_SECONDS, "Time in the present step", ["step"], registry=into)
        for step in Step:
            self._step.labels(step)
            seconds.labels(step).set_function(partial(self._seconds_in, step))

    def show(self, release: Release) -> None:
        """The present state of a release."""
        self._release = release
        for step in Step:
            self._step.labels(step).set(step is release.step)
        self._waits.set(len(release.waits))
        self._number.set(release.number)

    def _seconds_in(self, step: Step) -> float:
        release = self._release
        if release is None or release.ended or release.step is not step:
            return 0.0
        return max(0.0, (self._clock() - release.since_ms) / 1_000)
