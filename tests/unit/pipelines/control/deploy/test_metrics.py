"""Seconds that a release has spent in its step, as Prometheus reads them."""

from msgspec.structs import replace

from pipelines.control.deploy.metrics import DeployMetrics
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Release
from shared.runtime.metrics import DeployMetric


class Deployer:
    """Metrics on the test's clock."""

    def __init__(self) -> None:
        self.now_ms = 10_000
        self.metrics = DeployMetrics(lambda: self.now_ms)

    def seconds(self) -> dict[str, float]:
        """The steps with a time."""
        return {step: value for step in Step if (value := self._of(step))}

    def _of(self, step: Step) -> float:
        found = self.metrics.registry.get_sample_value(DeployMetric.STEP_SECONDS, {"step": step})
        assert found is not None
        return found


STOPS = Release(number=1, kind=Kind.DEPLOY, step=Step.STOP, since_ms=4_000, asked_by="x", asked_ms=0)


def test_the_time_in_a_step_grows_while_nothing_is_written_and_begins_anew_with_the_next_step() -> None:
    deployer = Deployer()
    assert deployer.seconds() == {}
    deployer.metrics.show(STOPS)
    assert deployer.seconds() == {"stop": 6}
    deployer.now_ms = 3_604_000
    assert deployer.seconds() == {"stop": 3_600}
    deployer.metrics.show(replace(STOPS, step=Step.REWIND, since_ms=3_603_000))
    assert deployer.seconds() == {"set positions": 1}


def test_a_release_that_ended_is_in_no_step() -> None:
    deployer = Deployer()
    deployer.metrics.show(STOPS)
    deployer.metrics.show(replace(STOPS, step=Step.UNDONE))
    assert deployer.seconds() == {}
