"""How the traffic is shared between two local sides: kept in a file, and carried out by HAProxy.

The file goes first and HAProxy's configuration with it, so that an edge that is started again at any moment
has the weights that hold. If the running HAProxy refuses them, the file gets its old weights back.
"""

import fcntl
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final

import msgspec

from scripts.local.side import LIGHT
from scripts.local.twins.haproxy_config import (
    API,
    CONSOLE,
    EVENTS,
    PINNED_MAP,
    Backend,
    haproxy_config,
    leading,
    pinned_map,
    shares,
)
from scripts.local.twins.place import Twins
from scripts.local.twins.runtime_api import HaproxyError, RuntimeApi, Server
from scripts.local.whole_file import write_whole
from shared.contracts.side_weights import SIDES, WrongWeightsError
from shared.runtime.errors import OperatorError

_ALL: Final = 100
_FIRST: Final = SIDES[0]


class NotTakingError(OperatorError):
    """A side cannot take the traffic that it would get."""


class PinnedTenant(msgspec.Struct, frozen=True, kw_only=True):
    """A customer with one side for its events, whatever the weights are."""

    side: str
    keys: list[str]
    """SHA-256 of its write keys, hexadecimal: of the keys of that moment."""


def sides_with_events(weights: Mapping[str, int], pinned: Iterable[str]) -> Set[str]:
    """The sides that events are sent to: with a share of all, or of a customer that is pinned to one."""
    return {*(side for side, share in weights.items() if share), *pinned}


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The traffic as the file holds it."""

    weights: dict[str, int]
    """Each side's share in percent."""

    lead: str
    """The side of the console and the management API that the edge shows."""

    pinned: dict[str, PinnedTenant] = {}
    """Pinned tenants by name."""

    former: list[dict[str, int]] = []
    """The weights before, newest first."""

    @property
    def open_sides(self) -> Set[str]:
        """Those to which events are sent: with a share of all, or those of a pinned customer."""
        return sides_with_events(self.weights, (each.side for each in self.pinned.values()))

    @property
    def pinned_keys(self) -> Mapping[str, str]:
        """The side that takes a write key's events, by the key's digest."""
        return {key: each.side for each in self.pinned.values() for key in each.keys}


_MOST_FORMER: Final = 100
NONE_PINNED: Final[Mapping[str, PinnedTenant]] = MappingProxyType({})


class LocalTraffic:
    """The traffic of twins. Methods raise HaproxyError where they ask HAProxy."""

    def __init__(self, twins: Twins) -> None:
        self._twins, self._edge = twins, twins.edge
        self._haproxy = RuntimeApi(self._edge.socket)

    def state(self) -> State:
        """The weights that hold, and those before; all traffic goes to the first side at first."""
        try:
            return msgspec.json.decode(self._edge.state.read_bytes(), type=State)
        except FileNotFoundError:
            return State(weights={side: _ALL if side == _FIRST else 0 for side in SIDES}, lead=_FIRST)
        except (OSError, ValueError) as error:
            raise OperatorError(
                f"{self._edge.state} cannot be read: {error}", "remove it: all traffic then goes to blue"
            ) from error

    def prepare(self) -> None:
        """Write HAProxy's configuration for the weights that hold."""
        with self._locked():
            self._write(self.state())

    def set_weights(
        self,
        wanted: Mapping[str, int],
        *,
        pinned: Mapping[str, PinnedTenant] = NONE_PINNED,
        now: Mapping[str, int] | None = None,
    ) -> None:
        """Share the traffic otherwise, in force when this returns; requests in flight stay where they are.

        Args:
            wanted: by side, its share in percent.
            pinned: by tenant, those with one side for their events all the same; the others are not pinned
                any more.
            now: the weights from which they were decided; None does not check.

        Raises:
            WrongWeightsError: other weights hold than `now`, or they do not sum up to 100.
            NotTakingError: a side that would get more traffic does not pass its health checks.
        """
        _check(wanted)
        with self._locked():
            before = self.state()
            if now is not None and dict(now) != before.weights:
                raise WrongWeightsError(f"the weights are {before.weights}, not {dict(now)}: decide again")
            after = before
            if (dict(wanted), dict(pinned)) != (before.weights, before.pinned):
                self._check_health(wanted, before, {each.side for each in pinned.values()})
                former = [before.weights, *before.former][:_MOST_FORMER]
                lead = leading(wanted, before.lead)
                after = State(weights=dict(wanted), lead=lead, pinned=dict(pinned), former=former)
            # Though nothing is new: who wrote it may have died between two files, or before HAProxy had it.
            self._write(after)
            try:
                self._apply(after)
            except HaproxyError:
                self._write(before)
                raise

    def servers(self) -> Sequence[Server]:
        """Both sides, as the edge sees them: for events."""
        return [each for each in self._haproxy.servers() if each.backend == EVENTS]

    def _check_health(self, wanted: Mapping[str, int], before: State, pinned: Set[str]) -> None:
        """Those with a share, too: HAProxy sends nothing to the other side once that has none."""
        up = {each.side for each in self.servers() if each.up}
        for side, share in wanted.items():
            has = before.weights.get(side, 0)
            if (share > has or (side in pinned and not has)) and side not in up:
                raise NotTakingError(f"{side} does not answer /readyz with 200", "`hifi doctor` says why")

    def _apply(self, state: State) -> None:
        for backend, weights in shares(state.weights, state.lead).items():
            # Those that get more first: at no moment is there a backend without a server.
            for side in sorted(weights, key=lambda side: -weights[side]):
                self._haproxy.set_weight(backend, side, weights[side])
        self._haproxy.replace_map(PINNED_MAP, state.pinned_keys)

    def _write(self, state: State) -> None:
        text = haproxy_config(self._edge.socket, _backends(self._twins, state))
        for path, content in (
            (self._edge.pinned_map, pinned_map(state.pinned_keys).encode()),
            (self._edge.configuration, text.encode()),
            (self._edge.state, msgspec.json.encode(state)),
        ):
            write_whole(path, content)
        link = self._twins.root / f"{LIGHT}.new"
        link.unlink(missing_ok=True)
        link.symlink_to(state.lead)
        link.replace(self._twins.root / LIGHT)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self._edge.run / "traffic.lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _check(weights: Mapping[str, int]) -> None:
    if set(weights) != set(SIDES) or sum(weights.values()) != _ALL or min(weights.values()) < 0:
        raise WrongWeightsError(f"weights {dict(weights)}: give blue and green shares that sum up to {_ALL}")


def _backends(twins: Twins, state: State) -> Sequence[Backend]:
    edge, found, sides = twins.edge, shares(state.weights, state.lead), twins.sides
    ports = {
        EVENTS: (edge.port, {side.name: side.collect_port for side in sides}),
        API: (edge.api_port, {side.name: side.api_port for side in sides}),
        CONSOLE: (edge.console_port, {side.name: side.console_port for side in sides}),
    }
    return [
        Backend(name=name, port=port, servers=servers, weights=found[name])
        for name, (port, servers) in ports.items()
    ]
