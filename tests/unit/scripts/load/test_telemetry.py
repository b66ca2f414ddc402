"""Generated telemetry is realistic, and its events are distinct."""

from statistics import mean

import msgspec

from scripts.load.received_events import heads
from scripts.load.telemetry import ERROR, HEARTBEAT, PLAY, POOL, STALL, Telemetry
from scripts.load.timestamps import parse_ms

NOW = 1_790_000_000_123


def events(telemetry: Telemetry, count: int) -> list[bytes]:
    body = telemetry.take(count, NOW).body
    return [bytes(raw) for raw in msgspec.json.decode(body, type=list[msgspec.Raw])]


def test_sizes_are_those_of_players_beacons() -> None:
    sizes = [len(event) for event in events(Telemetry("run"), POOL)]
    assert min(sizes) >= 300
    assert max(sizes) <= 900
    assert 450 <= mean(sizes) <= 550


def test_every_event_has_the_attributes_of_a_cloudevent_and_its_kind() -> None:
    telemetry = Telemetry("run")
    for event in events(telemetry, POOL):
        members = msgspec.json.decode(event)
        assert members["specversion"] == "1.0"
        assert members["source"]
        assert members["data"]
        assert members["type"] == telemetry.kind_of(members["id"])
        assert parse_ms(members["time"]) == NOW


def test_ids_never_repeat_over_the_pools_end() -> None:
    telemetry = Telemetry("run")
    names = [name for _ in range(3) for name in telemetry.take(POOL - 1, NOW).ids]
    assert len(set(names)) == len(names)


def test_the_returned_ids_are_those_in_the_body() -> None:
    bundle = Telemetry("run").take(100, NOW)
    assert [head.id for head in heads(bundle.body, {})] == bundle.ids
    assert bundle.count == 100


def test_the_same_seed_gives_the_same_events() -> None:
    assert Telemetry("run", 3).take(50, NOW) == Telemetry("run", 3).take(50, NOW)
    assert Telemetry("run", 3).take(50, NOW) != Telemetry("run", 4).take(50, NOW)


def test_telemetry_contains_every_kind_of_event() -> None:
    telemetry = Telemetry("run")
    assert {telemetry.kind_of(name) for name in telemetry.take(POOL, NOW).ids} == {
        HEARTBEAT,
        PLAY,
        STALL,
        ERROR,
    }
