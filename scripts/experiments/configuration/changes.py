"""Changes a pipe again and again, and times each change until it is in force."""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from scripts.documents.api_client import ApiClient
from scripts.experiments.harness.documents import NAME
from scripts.experiments.harness.percentiles import percentile
from scripts.experiments.harness.subprocesses import ChainError
from shared.contracts.document_status import DocumentStatus, State

_PIPE: Final = "configuration"
_PATH: Final = f"/v1/tenants/{NAME}/pipes/{_PIPE}"
_POLL_SECONDS: Final = 0.05
_MOST_SECONDS: Final = 60.0
_LONGEST_PAUSE: Final = 8.0
"""Longer than any batch, so that changes come at every point of one."""


class Change(Struct, frozen=True, kw_only=True):
    """Seconds from the request that changed a pipe."""

    published: float
    """Until every side had it on its topic."""

    in_force: float
    """Until every process used it."""


def changes(api: ApiClient, going_on: Callable[[], bool], seed: int) -> Iterator[Change]:
    """Change the pipe, at random times, as long as `going_on` says; it is deleted at the end.

    Raises:
        ChainError: if a change is not in force within a minute.
        DocumentsError: if the API does not answer.
    """
    chance = random.Random(seed)
    try:
        while going_on():
            yield _changed(api, chance.random())
            time.sleep(chance.uniform(0, _LONGEST_PAUSE))
    finally:
        api.send("DELETE", _PATH, headers={"If-Match": "*"})


def _changed(api: ApiClient, number: float) -> Change:
    began = time.monotonic()
    body = {"source": NAME, "destination": NAME, "match": {"type": [f"never-{number}"]}}
    version = api.send("PUT", _PATH, body, headers={"If-Match": "*"})["version"]
    published = None
    while True:
        elapsed, states = time.monotonic() - began, _states(api, version)
        if states and states <= {State.PUBLISHED, State.IN_FORCE}:
            published = elapsed if published is None else published
        if states == {State.IN_FORCE}:
            return Change(published=published or elapsed, in_force=elapsed)
        if elapsed > _MOST_SECONDS:
            raise ChainError(f"version {version} of a pipe is not in force after {_MOST_SECONDS:.0f} s")
        time.sleep(_POLL_SECONDS)


def _states(api: ApiClient, version: int) -> set[State]:
    """The sides' states of a version or a later one; empty if a side has not reported it yet."""
    found: Mapping[str, Any] = api.get(_PATH)
    sides = msgspec.convert(found.get("status", {}), dict[str, DocumentStatus])
    return (
        set() if any(side.version < version for side in sides.values()) else {s.state for s in sides.values()}
    )


def in_words(found: list[Change]) -> str:
    """Median and p95 of the times."""
    if not found:
        return "no change was made"
    published, in_force = (
        sorted(getattr(each, name) for each in found) for name in ("published", "in_force")
    )
    return (
        f"{len(found)} changes: published after {percentile(published, 50):.1f} s in the median "
        f"(p95 {percentile(published, 95):.1f} s), in force after {percentile(in_force, 50):.1f} s "
        f"(p95 {percentile(in_force, 95):.1f} s, at most {in_force[-1]:.1f} s)"
    )
