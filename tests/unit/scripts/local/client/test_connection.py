"""Where commands find the services of a folder."""

from pathlib import Path

from scripts.local.client.connection import bootstraps, collect_url, console_url
from scripts.local.side import Side
from scripts.local.twins.place import Twins
from scripts.local.twins.traffic import LocalTraffic


def test_events_for_twins_are_posted_to_their_edge_which_shares_them(tmp_path: Path) -> None:
    twins = Twins(root=tmp_path, port=8110)
    twins.create()
    for side in twins.sides:
        side.create()
    LocalTraffic(twins).prepare()  # a link leads to the side with the most traffic
    assert collect_url(tmp_path) == "http://127.0.0.1:8110"
    assert console_url(tmp_path) == "http://127.0.0.1:8112"
    assert bootstraps(tmp_path) == [side.bootstrap for side in twins.sides]


def test_events_for_one_of_the_twins_are_posted_to_its_own_collect(tmp_path: Path) -> None:
    twins = Twins(root=tmp_path)
    twins.create()
    blue = twins.side("blue")
    blue.create()
    assert collect_url(blue.root) == blue.collect_url
    assert bootstraps(blue.root) == [blue.bootstrap]


def test_events_for_a_side_by_itself_are_posted_to_its_collect(tmp_path: Path) -> None:
    side = Side(root=tmp_path, port=9000)
    side.create()
    assert collect_url(tmp_path) == "http://127.0.0.1:9000"
    assert console_url(tmp_path) == side.console_url
    assert bootstraps(tmp_path) == [side.bootstrap]
