"""The deployer's commands as users type them, for tests that follow releases on two real sides."""

import json
import sys
from collections.abc import Callable
from typing import Any, Final

from scripts.deployer.client import DeployerClient
from shared.contracts.release_steps import Step
from shared.contracts.releases import Release
from shared.runtime.clock import wall_clock
from tests.harness.command_line import HifiProcess
from tests.harness.live_twins import LiveTwins
from tests.harness.waiting import eventually

RELEASE_SECONDS: Final = 1_500

REPLAYED: Final = "goes back to the snapshot; what went through since is replayed"
"""The text of the step that sets positions, if everything could be replayed."""


class Releases:
    """Runs the commands, and measures each step of a release."""

    def __init__(self, live: LiveTwins) -> None:
        self._hifi = HifiProcess(live.twins.root, {})
        self._client = DeployerClient(live.twins.root, wall_clock)

    def run(self, *arguments: str) -> dict[str, Any]:
        """Run a command until its release is complete; returns the release."""
        done = self._hifi.run(*arguments, timeout=RELEASE_SECONDS)
        assert done.returncode == 0, done.stdout + done.stderr
        release = self.current()
        assert release["step"] == Step.DONE, release
        _say(release)
        return release

    def begin(self, *arguments: str) -> None:
        """Request a release without waiting for its end."""
        done = self._hifi.run(*arguments, "--detach")
        assert done.returncode == 0, done.stdout + done.stderr

    def done(self) -> dict[str, Any]:
        """Wait until the release is complete; returns it."""
        self._awaited(lambda: self.state().ended, "its end")
        release = self.current()
        _say(release)
        assert release["step"] == Step.DONE, release
        return release

    def current(self) -> dict[str, Any]:
        """The release that is under way, or that ended last."""
        found = self._hifi.json("sides")["release"]
        assert isinstance(found, dict)
        return found

    def state(self) -> Release:
        """The same from the table, for repeated looks: a command takes a second of CPU."""
        found = self._client.current()
        assert found is not None
        return found

    def at(self, step: Step) -> dict[str, Any]:
        """Wait until the release has reached a step, or passed it: some steps are shorter than a look."""
        self._awaited(lambda: self._is_at(step), f"{step}", every=0.5)
        return self.current()

    def serving(self) -> dict[str, tuple[str, int, bool]]:
        """By side: its version, its share of the traffic in percent, and whether it is parked."""
        found = self._hifi.json("sides")["sides"]
        return {each["side"]: (each["version"], each["share"], each["parked"]) for each in found}

    def undo(self, *options: str) -> dict[str, Any]:
        """Run `hifi rollback` for the release that is under way."""
        done = self._hifi.run("rollback", *options, timeout=RELEASE_SECONDS)
        assert done.returncode == 0, done.stdout + done.stderr
        release = self.current()
        assert release["step"] == Step.UNDONE, release
        _say(release)
        return release

    def undone_by_itself(self, version: str) -> Release:
        """Run `hifi deploy` with a bad version; returns the release once it is undone."""
        before = self._client.current()
        self.begin("deploy", version)

        def ended() -> Release | None:
            found = self._client.current()
            return found if found is not None and found.ended and found != before else None

        release = self._awaited(ended, f"{version} is undone")
        assert isinstance(release, Release)
        _say(self.current())
        assert release.step is Step.UNDONE, release
        return release

    def _awaited(self, check: Callable[[], Any], what: str, every: float = 2) -> Any:
        """Like `eventually`; a failure shows the output of `hifi sides`, which the release waits for."""
        try:
            return eventually(check, RELEASE_SECONDS, what, every)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self._hifi.run('sides').stdout}") from error

    def _is_at(self, step: Step) -> bool:
        release = self.state()
        assert not release.back and not release.ended, release
        return step in {release.step, *(each.step for each in release.log)}


def _say(release: dict[str, Any]) -> None:
    steps = [
        f"{each['step']} {(each['until_ms'] - each['since_ms']) / 1_000:.0f} s" for each in release["log"]
    ]
    sys.stdout.write(f"{release['kind']} {release['version']}: {', '.join(steps)}\n")
    sys.stdout.write(json.dumps(release.get("verdicts", []))[:2_000] + "\n")
