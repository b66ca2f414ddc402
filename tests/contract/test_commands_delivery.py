"""`hifi dead-letters` as a user runs it, against real brokers."""

import subprocess
from pathlib import Path

import pytest

from shared.contracts import headers as h
from shared.contracts.envelope import delivery_key
from shared.contracts.topics import Topic
from tests.harness.command_line import HIFI, Hifi
from tests.harness.topics import Topics, outbound_headers, pipe_to

REFUSED = "refused: the destination answered 404"
OVER = "time_over: not delivered within 24 h; last answer: timeout: no answer within 5 s"


@pytest.fixture
def side(topics: str) -> Topics:
    return Topics(topics)


@pytest.fixture
def hifi(topics: str, tmp_path: Path) -> Hifi:
    return Hifi(tmp_path, {"HIFI_BOOTSTRAP": topics})


def die(side: Topics, pipe: str, numbers: range, reason: str, destination: str | None = None) -> None:
    """Dead letters as transmit writes them."""
    for number in numbers:
        said = {h.REASON: reason, h.STATUS: "404", h.FIRST_TRY: "1000", h.LAST_TRY: "2000", h.ATTEMPT: "7"}
        said |= {} if destination is None else {h.DESTINATION: destination}
        headers = outbound_headers(pipe, number, ce_subject="s\x1b[31m", **said)
        value = b'{"n":%d,"big":123456789012345678901.10}' % number
        side.put(Topic.DEAD_LETTER, value, headers, delivery_key("t", pipe, "test", f"e{number}"))
    side.flush()


def ids(side: Topics) -> list[str]:
    """Event ids on `outbound`, in any order."""
    return sorted(dict(m.headers() or [])[h.CE_ID].decode() for m in side.all_of(Topic.OUTBOUND))  # type: ignore[union-attr]


@pytest.mark.proof
def test_letters_are_listed_by_filters_and_shown_with_all_fields(side: Topics, hifi: Hifi) -> None:
    side.publish(*pipe_to("shop", "http://127.0.0.1:9/"), *pipe_to("bank", "http://127.0.0.1:9/"))
    die(side, "shop", range(3), REFUSED)
    die(side, "bank", range(3, 5), OVER, destination="vault")

    def found(*options: str) -> list[str]:
        return [one["attributes"]["id"] for one in hifi.json("dead-letters", "list", *options)]

    assert found() == ["e0", "e1", "e2", "e3", "e4"]
    assert found("--pipe", "shop") == found("--destination", "shop") == ["e0", "e1", "e2"]
    assert found("--destination", "vault", "--reason", "Time_Over") == ["e3", "e4"]
    assert found("--destination", "bank") == [], (
        "the letter's own destination counts, not the pipe's current one"
    )
    assert found("--since", "1h", "--limit", "2") == ["e3", "e4"]
    assert found("--until", "1h") == []
    assert hifi.run("dead-letters", "list", "--since", "soon").returncode == 2

    table = hifi.run("dead-letters", "list").stdout
    assert "refused: the destination answered 404" in table
    (one,) = hifi.json("dead-letters", "show", "e3", "--body")
    assert (one["pipe"], one["destination"], one["attempt"], one["status"]) == ("bank", "vault", 7, 404)
    assert one["data"] == '{"n":3,"big":123456789012345678901.10}'
    shown = hifi.run("dead-letters", "show", one["letter"])
    assert OVER in shown.stdout
    assert "\x1b[31m" not in shown.stdout, "control characters of events are escaped"
    assert '"big"' not in shown.stdout, "data only on request"
    assert hifi.run("dead-letters", "show", "0/999999").returncode == 1


def test_a_replay_sends_each_letter_once_as_a_new_delivery(side: Topics, hifi: Hifi) -> None:
    side.publish(*pipe_to("shop", "http://127.0.0.1:9/"))
    die(side, "shop", range(5), REFUSED)
    die(side, "gone", range(5, 7), "unknown_pipe: there is no pipe 'gone', or it was deleted")

    only = ("dead-letters", "replay", "--pipe", "shop")
    dry = hifi.json(*only, "--dry-run")
    kinds = [{"tenant": "t", "pipe": "shop", "destination": "shop", "reason": "refused", "letters": 5}]
    assert (dry["matching"], dry["replayed"], dry["kinds"]) == (5, 0, kinds)
    refused = hifi.run(*only, stdin="n\n")
    assert (refused.returncode, ids(side)) == (1, []), "the user declined"
    assert "no such pipe" in hifi.run("dead-letters", "replay", "--dry-run").stdout

    second = hifi.json("dead-letters", "list")[1]["letter"]
    assert hifi.json("dead-letters", "replay", second, "--yes")["replayed"] == 1
    done = hifi.json(*only, "--yes")
    assert (done["matching"], done["replayed_before"], done["replayed"]) == (4, 1, 4)
    assert ids(side) == ["e0", "e1", "e2", "e3", "e4"]
    assert hifi.json(*only, "--yes")["replayed"] == 0, "a letter was replayed twice"
    assert ids(side) == ["e0", "e1", "e2", "e3", "e4"]
    letters = hifi.json("dead-letters", "list")
    assert {one["pipe"] for one in letters} == {"gone"}, "replayed letters are not listed"
    assert len(hifi.json("dead-letters", "list", "--all")) == 7

    die(side, "shop", range(1), REFUSED)
    assert hifi.json(*only, "--yes")["replayed"] == 1, "an event that fails again is a new letter"
    assert hifi.json(*only, "--yes", "--again")["replayed"] == 6

    copies = {dict(m.headers() or [])[h.CE_ID]: m for m in side.all_of(Topic.OUTBOUND)}
    copy, letter = copies[b"e3"], side.all_of(Topic.DEAD_LETTER)[3]
    assert (copy.key(), copy.value()) == (letter.key(), letter.value())
    gone = {h.REASON, h.STATUS, h.FIRST_TRY, h.LAST_TRY, h.ATTEMPT}
    kept = [header for header in letter.headers() or [] if header[0] not in gone]
    assert copy.headers() == [*kept, (h.ATTEMPT, b"1"), (h.LETTER, f"0/{letter.offset()}".encode())]


def test_letters_that_others_replay_while_the_prompt_waits_are_left_out(side: Topics, hifi: Hifi) -> None:
    side.publish(*pipe_to("prompt", "http://127.0.0.1:9/"))
    die(side, "prompt", range(20, 23), REFUSED)
    others = [one["letter"] for one in hifi.json("dead-letters", "list", "--pipe", "prompt")][:2]
    pipe, command = subprocess.PIPE, [*HIFI, "dead-letters", "replay", "--pipe", "prompt"]
    with subprocess.Popen(
        command, env=hifi.environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as asking:
        try:
            _until_asked(asking)
            assert hifi.json("dead-letters", "replay", *others, "--yes")["replayed"] == 2
            said, _ = asking.communicate("y\n", timeout=120)
        finally:
            asking.kill()
    assert asking.returncode == 0
    assert [each for each in ids(side) if each in {"e20", "e21", "e22"}] == ["e20", "e21", "e22"]
    assert "1 replayed; 3 match, 2 were replayed by others meanwhile" in said


def _until_asked(process: "subprocess.Popen[str]") -> None:
    """Return once a command waits for an answer to its question."""
    assert process.stderr
    said = ""
    while not said.endswith("?"):
        character = process.stderr.read(1)
        assert character, f"ended without a question: {said}"
        said += character
