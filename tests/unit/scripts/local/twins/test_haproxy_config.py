"""The edge's configuration as text, and HAProxy's statistics as rows."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.local.twins.haproxy_config import (
    API,
    CONSOLE,
    EVENTS,
    Backend,
    haproxy_config,
    leading,
    pinned_map,
    shares,
)
from scripts.local.twins.runtime_api import HaproxyError, parsed_servers

_HEAD = "# pxname,svname,qcur,scur,stot,econ,hrsp_5xx,status,weight,\n"


def test_a_backend_has_its_port_and_each_side_with_its_share() -> None:
    events = Backend(
        name=EVENTS, port=8100, servers={"blue": 8110, "green": 8130}, weights={"blue": 95, "green": 5}
    )
    text = haproxy_config(Path("/data/edge/run/haproxy.sock"), [events])
    assert "frontend events\n    bind 127.0.0.1:8100\n    default_backend events\n" in text
    assert "    server blue 127.0.0.1:8110 weight 95\n    server green 127.0.0.1:8130 weight 5\n" in text
    assert 'stats socket "/data/edge/run/haproxy.sock" mode 600' in text


def test_only_events_are_led_by_the_key_that_they_come_with() -> None:
    events, api = (
        haproxy_config(Path("s"), [Backend(name=name, port=1, servers={"blue": 2}, weights={"blue": 100})])
        for name in (EVENTS, API)
    )
    assert "use-server %[var(txn.side)] if" in events
    assert "use-server" not in api


def test_a_map_has_a_key_a_line() -> None:
    assert pinned_map({"b2": "green", "a1": "blue"}) == "a1 blue\nb2 green\n"


def test_only_connections_are_tried_again() -> None:
    text = haproxy_config(Path("s"), [])
    assert [line.strip() for line in text.splitlines() if "retry-on" in line] == ["retry-on conn-failure"]


def test_a_folder_with_odd_characters_is_one_word() -> None:
    text = haproxy_config(Path('/a b/"c"/$HOME/s'), [])
    assert r'stats socket "/a b/\"c\"/\$HOME/s" mode' in text


def test_pages_and_documents_come_from_the_leading_side_alone() -> None:
    found = shares({"blue": 30, "green": 70}, "green")
    assert found[EVENTS] == {"blue": 30, "green": 70}
    assert found[API] == found[CONSOLE] == {"blue": 0, "green": 100}


@given(st.integers(0, 100), st.sampled_from(["blue", "green"]))
def test_the_side_with_more_traffic_leads_and_the_former_one_at_equal_shares(blue: int, before: str) -> None:
    found = leading({"blue": blue, "green": 100 - blue}, before)
    assert found == ("blue" if blue > 50 else "green" if blue < 50 else before)


def test_statistics_become_typed_rows() -> None:
    rows = (
        "events,FRONTEND,,3,9,,,OPEN,,",
        "events,blue,0,2,41,1,3,UP 1/2,95,",
        "events,BACKEND,0,2,41,,,UP,95,",
    )
    (row,) = parsed_servers(_HEAD + "\n".join(rows))
    assert (row.backend, row.side, row.weight, row.in_flight) == ("events", "blue", 95, 2)
    assert (row.requests, row.connection_errors, row.server_errors) == (41, 1, 3)
    assert row.up


@pytest.mark.parametrize(
    ("status", "up"), [("UP", True), ("DRAIN", True), ("DOWN", False), ("MAINT", False), ("DOWN 1/2", False)]
)
def test_a_side_is_up_while_its_health_checks_pass(status: str, up: bool) -> None:
    (row,) = parsed_servers(f"{_HEAD}events,blue,0,0,0,0,0,{status},1,")
    assert row.up is up


@pytest.mark.parametrize("text", ["# pxname,svname\nevents,blue", f"{_HEAD}events,blue,0,x,0,0,0,UP,1,"])
def test_statistics_that_cannot_be_read_are_shown(text: str) -> None:
    with pytest.raises(HaproxyError, match="cannot be read"):
        parsed_servers(text)
