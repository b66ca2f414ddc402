"""Releases stored by an earlier version can be read, although they lack later fields."""

import msgspec

from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Positions, Release

STORED = b"""{
    "number": 7, "kind": "deploy", "version": "1.4.0", "step": "catch up", "since_ms": 3000,
    "asked_by": "ann", "asked_ms": 1000, "target": "green", "former": "blue", "former_version": "1.3.0",
    "canary_tenants": [], "snapshot": {"queries": {"ingest": {"collected/0": 5}}, "groups": {}},
    "left_at": null, "stopped_ms": 0, "woken": false, "reached": "watch", "traffic_ms": 2000,
    "by_hand": false, "back": "9 events are lost", "unready_ms": 0, "unfinished": "", "replay": true,
    "waits": [], "waits_since_ms": 0, "said": "", "log": [], "verdicts": [], "term": 1,
    "owner": "deploy-1", "revision": 20
}"""
"""Written by the version before `leftovers`."""


def test_a_release_of_an_earlier_version_is_gone_on_with() -> None:
    found = msgspec.json.decode(STORED, type=Release)
    assert (found.number, found.kind, found.step, found.reached) == (
        7,
        Kind.DEPLOY,
        Step.CATCH_UP,
        Step.WATCH,
    )
    assert found.snapshot == Positions(queries={"ingest": {"collected/0": 5}})
    assert (found.leftovers, found.carried, found.processed) == (False, True, True)
