"""State that rules need from earlier passes: losses, doubles, backlogs and so on, each since when. Pure."""

import zlib
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from pipelines.control.observe.alarms.history_keys import loss_key, name_key, split_minute
from pipelines.control.observe.alarms.inputs import Inputs, SourceMinutes
from pipelines.control.observe.alarms.rises import KnownCount, doubled_counts, risen, wrongly_dead
from pipelines.control.observe.alarms.settings import AlarmSettings
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import ALL_TENANTS, HopRow
from shared.runtime.clock import is_over

SILENT_HOUR: Final = 60
"""Minutes before a source's last event in which its activity is measured."""

SILENT_MOST: Final = 45
"""Minutes with events among these from which a source counts as one that sends regularly."""

SILENT_FORGOTTEN: Final = 24 * 60
"""Minutes of silence after which a source counts as retired."""


class KnownLoss(Struct, frozen=True, array_like=True):
    """Lost events of one minute at one hop."""

    lost: int
    since_ms: int
    """When the count rose to this value, epoch milliseconds."""


class BacklogSample(Struct, frozen=True, array_like=True):
    """How many events of a pipe were waiting at a time."""

    at_ms: int
    waiting: int


class History(Struct, kw_only=True, frozen=True):
    """Losses, doubles, dead letters, backlogs and silent sources as seen in earlier passes."""

    losses: dict[str, KnownLoss] = {}
    """Known losses, by `loss_key`."""

    doubled: dict[str, KnownCount] | None = None
    """Second copies, by `minute_key`; None if an earlier version stored the history."""

    dead: dict[str, KnownCount] | None = None
    """Dead letters that hifi caused, likewise."""

    backlogs: dict[str, list[BacklogSample]] = {}
    """Samples of each pipe's backlog, by `name_key`."""

    silent: dict[str, int] = {}
    """The last epoch minute of each silent source, by `name_key`."""

    def encode(self) -> bytes:
        """Serialise for the store."""
        return zlib.compress(msgspec.msgpack.encode(self))

    @classmethod
    def decode(cls, value: bytes) -> "History":
        """Deserialise what `encode` gave.

        Raises:
            msgspec.MsgspecError: if the bytes are not a history.
        """
        try:
            return msgspec.msgpack.decode(zlib.decompress(value), type=cls)
        except zlib.error as error:
            raise msgspec.DecodeError(str(error)) from error


def updated(before: History, inputs: Inputs, settings: AlarmSettings) -> History:
    """The history after a pass."""
    return History(
        losses={key: _known(before.losses.get(key), row.lost, inputs.at_ms) for key, row in _lost(inputs)},
        doubled=risen(before.doubled, doubled_counts(inputs), inputs.at_ms),
        dead=risen(before.dead, wrongly_dead(inputs), inputs.at_ms),
        backlogs=_backlogs(before.backlogs, inputs, settings.alarm_backlog_minutes),
        silent=_silent(before.silent, inputs, settings.alarm_silent_minutes),
    )


def newest_losses(history: History) -> dict[int, int]:
    """When the newest loss of each epoch minute was found, epoch milliseconds."""
    found: dict[int, int] = {}
    for key, known in history.losses.items():
        _, minute = split_minute(key)
        found[minute] = max(known.since_ms, found.get(minute, 0))
    return found


def _lost(inputs: Inputs) -> Iterable[tuple[str, HopRow]]:
    for tenant, cards in inputs.cards.items():
        if tenant == ALL_TENANTS:
            continue
        for card in cards:
            for row in card.hops if card.lost else ():
                if row.lost:
                    yield loss_key(card, row), row


def _known(before: KnownLoss | None, lost: int, now_ms: int) -> KnownLoss:
    """A count that falls is a correction and keeps its time, unless the clock was set back to before it."""
    grew = before is None or lost > before.lost
    return KnownLoss(lost, now_ms if grew or before is None else min(before.since_ms, now_ms))


def _backlogs(
    before: Mapping[str, list[BacklogSample]], inputs: Inputs, minutes: int
) -> dict[str, list[BacklogSample]]:
    """Drops a pipe once all of its samples are 0."""
    waiting = {name_key(*pipe): events for pipe, events in inputs.waiting.items()}
    found = {
        key: _sampled(before.get(key, []), BacklogSample(inputs.at_ms, waiting.get(key, 0)), minutes)
        for key in {*before, *waiting}
    }
    return {key: samples for key, samples in found.items() if any(each.waiting for each in samples)}


def _sampled(samples: list[BacklogSample], new: BacklogSample, minutes: int) -> list[BacklogSample]:
    """One sample a minute, kept two minutes longer than needed: passes do not run on the minute."""
    past = [sample for sample in samples if sample.at_ms <= new.at_ms]  # later ones: a clock was set back
    if past and not is_over(past[-1].at_ms, MINUTE_MS, new.at_ms):
        return past
    oldest = new.at_ms - (minutes + 2) * MINUTE_MS
    return [*(sample for sample in past if sample.at_ms > oldest), new]


def _silent(before: Mapping[str, int], inputs: Inputs, minutes: int) -> dict[str, int]:
    """One that is silent stays so until it sends again, also if its last hour is not in memory any more."""
    now = inputs.at_ms // MINUTE_MS
    # Whole minutes of silence: the current one may still have events.
    quiet = range(now - SILENT_FORGOTTEN, now - minutes)
    sources = {name_key(each.tenant, each.name): each for each in inputs.sources if each.minutes}
    newest = {key: max(each.minutes) for key, each in sources.items()}
    last = {key: at for key, at in before.items() if at in quiet and newest.get(key, at) <= at}
    stopped = {key: at for key, at in newest.items() if at in quiet and _used_to_send(sources[key], at)}
    return last | stopped


def _used_to_send(source: SourceMinutes, last: int) -> bool:
    return sum(last - SILENT_HOUR < minute <= last for minute in source.minutes) >= SILENT_MOST
