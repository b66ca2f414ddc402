"""The alarms of a side: updated in each pass of the control loop, listed and silenced by the API."""

import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pipelines.control.observe.alarms.history import History, newest_losses, updated
from pipelines.control.observe.alarms.inputs import Inputs
from pipelines.control.observe.alarms.lifecycle import AlarmState, AlarmTiming, step
from pipelines.control.observe.alarms.notifier import Notifier
from pipelines.control.observe.alarms.outbox import SNS, WEBHOOK, notifications
from pipelines.control.observe.alarms.quiet_windows import validated
from pipelines.control.observe.alarms.receivers import receivers
from pipelines.control.observe.alarms.repository import KEPT_DAYS, AlarmRepository
from pipelines.control.observe.alarms.rules import evaluate
from pipelines.control.observe.alarms.settings import AlarmSettings
from pipelines.control.observe.dynamodb import Store
from shared.contracts.alarms import Alarm, AlarmKind, QuietWindow
from shared.contracts.documents import Catalogue
from shared.contracts.envelope import DAY_MS, HOUR_MS
from shared.contracts.scorecard import ALL_TENANTS
from shared.contracts.secrets import secret_name
from shared.kafka.config_topic import config_table
from shared.kafka.global_table import GlobalTable
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger
from shared.runtime.secret_stores import store_for
from shared.runtime.secrets import SecretTable

_log = get_logger(__name__)
MOST_KEPT: Final = 5_000
"""Most resolved alarms that are listed."""


class Alarms:
    """All alarms of a side. `update` is called from one thread; the rest from any."""

    def __init__(  # noqa: PLR0913  # thresholds, what is kept and read, and the world
        self,
        settings: AlarmSettings,
        store: Store,
        catalogue: Callable[[], Catalogue | None],
        secrets: SecretTable,
        clock: Clock,
        *,
        activities: Callable[[], Sequence[QuietWindow]] = tuple,
    ) -> None:
        """Alarms, with nothing open.

        Args:
            settings: thresholds and receivers.
            store: where they are kept.
            catalogue: gives the published documents, None while they are not loaded.
            secrets: keys of receivers.
            clock: tells the time.
            activities: quiet windows of what is under way on the side.
        """
        self._settings = settings
        self._catalogue = catalogue
        self._secrets = secrets
        self._clock = clock
        self._repository = AlarmRepository(store)
        self._accepted: deque[str] = deque()
        self._tracked: Mapping[str, AlarmState] = {}
        self._past: tuple[Alarm, ...] = ()
        self._windows: tuple[QuietWindow, ...] = ()
        self._activities = activities
        self._changing = threading.Lock()
        self._history = History()
        self._timing = _timing(settings)
        known = receivers(settings, catalogue, secrets, clock)
        self._operators = [name for name in (SNS, WEBHOOK) if name in known]
        give_up_ms = int(settings.alarm_give_up_hours * HOUR_MS)
        self._notifier = Notifier(known, self._accepted.append, clock, give_up_ms)

    def restore(self) -> None:
        """Load the state that the last process stored; notifications not yet accepted are sent again.

        Raises:
            StoreError: if the table cannot be read.
        """
        stored, history = self._repository.alarms(), self._repository.history()
        waiting = self._repository.notifications()
        with self._changing:  # a window that is added meanwhile stays in force
            self._windows = tuple(self._repository.windows())
        self._tracked = {each.key: each for each in stored}  # oldest first, so the newest wins
        current = {each.alarm.id for each in self._tracked.values()}
        self._past = tuple(each.alarm for each in stored if each.alarm.id not in current)
        self._history = history
        self._notifier.post(waiting)

    def update(self, inputs: Inputs) -> None:
        """Evaluate the rules, store changes and notify; does not wait for the store or for receivers."""
        before, history = self._tracked, self._history
        self._want_secrets()
        self._history = updated(history, inputs, self._settings)
        evaluation = evaluate(inputs, self._history, self._catalogue(), self._settings)
        after, transitions = step(before, evaluation, self._all_windows(), self._timing, inputs.at_ms)
        catalogue = self.published()
        new = notifications(transitions, self._operators, catalogue.contacts.values(), inputs.at_ms)
        changed = [each for key, each in after.items() if each != before.get(key)]
        self._archive(before, after, inputs.at_ms)
        self._repository.forget(self._accepted.popleft() for _ in range(len(self._accepted)))
        self._repository.keep(new, changed, None if self._history == history else self._history)
        self._notifier.post(new)
        for transition in transitions:
            alarm = transition.alarm
            fields = {"alarm": alarm.id, "kind": alarm.kind, "tenant": alarm.tenant, "subject": alarm.subject}
            _log.warning(f"alarm {transition.change}", extra=fields)

    def losses(self) -> Mapping[int, int]:
        """When the newest loss of each epoch minute was found, epoch milliseconds."""
        return newest_losses(self._history)

    def listed(self, tenant: str, is_open: bool | None = None) -> list[Alarm]:
        """Alarms of a tenant or of ALL_TENANTS, newest first.

        Args:
            tenant: its name, or ALL_TENANTS.
            is_open: only open ones, or only those resolved in the last KEPT_DAYS days; None gives both.
        """
        every = [*self._past, *(each.alarm for each in self._tracked.values())]
        chosen = [
            alarm
            for alarm in every
            if tenant in (ALL_TENANTS, alarm.tenant) and is_open in (None, alarm.resolved_ms is None)
        ]
        return sorted(chosen, key=lambda alarm: alarm.id, reverse=True)

    def open_by_kind(self) -> dict[AlarmKind, int]:
        """Number of open alarms for every kind, including those in a quiet window."""
        counts = Counter(each.alarm.kind for each in self._tracked.values() if each.open)
        return {kind: counts[kind] for kind in AlarmKind}

    def windows(self) -> list[QuietWindow]:
        """Current and future quiet windows, earliest first."""
        now = self._clock()
        return sorted(
            (each for each in self._all_windows() if each.until_ms > now),
            key=lambda each: (each.from_ms, each.id),
        )

    def add_window(self, window: QuietWindow) -> QuietWindow:
        """Add a quiet window; adding the same one again changes nothing.

        Raises:
            WindowError: if the window is not valid.
            StoreError: if it cannot be stored; it is then not in force.
        """
        taken = validated(window, self._clock())
        with self._changing:
            self._repository.add_window(taken)
            self._windows = (*(each for each in self._windows if each.id != taken.id), taken)
        return taken

    def remove_window(self, window_id: str) -> bool:
        """Remove a quiet window; False if the id is unknown.

        Raises:
            StoreError: if that cannot be stored; the window then stays in force.
        """
        with self._changing:
            if all(each.id != window_id for each in self._windows):
                return False
            self._repository.remove_window(window_id)
            self._windows = tuple(each for each in self._windows if each.id != window_id)
        return True

    def _all_windows(self) -> tuple[QuietWindow, ...]:
        return (*self._windows, *self._activities())

    def close(self) -> None:
        """Stop sending, and record which notifications were accepted."""
        self._notifier.close()
        self._repository.forget(self._accepted)
        self._repository.close()

    def _archive(self, before: Mapping[str, AlarmState], after: dict[str, AlarmState], now_ms: int) -> None:
        """Move alarms that ended long ago, or were replaced, from the tracked ones to the list."""
        replaced = [each.alarm for key, each in before.items() if after[key].alarm.id != each.alarm.id]
        ended = [key for key, each in after.items() if _long_over(each, self._timing, now_ms)]
        past = [*self._past, *replaced, *(after.pop(key).alarm for key in ended)]
        oldest = now_ms - KEPT_DAYS * DAY_MS
        self._past = tuple(alarm for alarm in past if (alarm.resolved_ms or now_ms) > oldest)[-MOST_KEPT:]
        self._tracked = after

    def published(self) -> Catalogue:
        """The published documents; an empty catalogue while they are not loaded."""
        return self._catalogue() or Catalogue()

    def _want_secrets(self) -> None:
        references = [each.secret for each in self.published().contacts.values()]
        own = (self._settings.alarm_webhook_key, self._settings.alarm_mail_password)
        names = [secret_name(each) for each in (*references, *own) if each]
        self._secrets.want(name for name in names if name)


class SideAlarms(Alarms):
    """Alarms with their own configuration table and secrets."""

    def __init__(
        self,
        settings: AlarmSettings,
        store: Store,
        clock: Clock,
        activities: Callable[[], Sequence[QuietWindow]],
    ) -> None:
        self._table: GlobalTable[Catalogue] = config_table(settings.bootstrap, "observe-alarms")
        self._own_secrets = SecretTable(store_for(settings.side, settings.secrets)).start()
        super().__init__(settings, store, self._known, self._own_secrets, clock, activities=activities)

    def close(self) -> None:
        """Stop all threads; takes about two seconds at most."""
        super().close()
        self._own_secrets.stop()
        self._table.stop()

    def _known(self) -> Catalogue | None:
        return self._table.view if self._table.loaded else None


def open_alarms(
    settings: AlarmSettings,
    store: Store,
    clock: Clock,
    activities: Callable[[], Sequence[QuietWindow]] = tuple,
) -> Alarms:
    """The alarms of a side; returns at once, before the configuration is loaded."""
    return SideAlarms(settings, store, clock, activities)


def _timing(settings: AlarmSettings) -> AlarmTiming:
    return AlarmTiming(
        hold_ms=int(settings.alarm_hold_seconds * 1000),
        relapse_ms=int(settings.alarm_relapse_minutes * 60_000),
        update_ms=int(settings.alarm_update_minutes * 60_000),
    )


def _long_over(each: AlarmState, timing: AlarmTiming, now_ms: int) -> bool:
    resolved = each.alarm.resolved_ms
    return each.over and resolved is not None and now_ms - resolved > timing.relapse_ms
