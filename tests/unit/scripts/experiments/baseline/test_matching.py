import pytest

from scripts.experiments.baseline.matching import fields, matcher

EVENT = {
    "type": "video.stall",
    "source": "/players/tv",
    "data": {"bitrate": 1750, "tags": ["a", "b"], "live": False, "cdn": {"name": "Fastly"}, "none": None},
}


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ({}, True),
        ({"type": ["video.play", "video.stall"]}, True),
        ({"type": ["video.play"]}, False),
        ({"type": ["video.stall"], "source": ["/elsewhere"]}, False),
        ({"type": [{"prefix": "video."}]}, True),
        ({"type": [{"suffix": ".play"}]}, False),
        ({"type": [{"wildcard": "v*.st*ll"}]}, True),
        ({"type": [{"anything-but": ["video.play"]}]}, True),
        ({"type": [{"anything-but": {"prefix": "video."}}]}, False),
        ({"subject": [{"anything-but": "x"}]}, False),
        ({"subject": [{"exists": False}]}, True),
        ({"data": {"bitrate": [{"numeric": [">", 1000, "<=", 1750]}]}}, True),
        ({"data": {"bitrate": [{"numeric": [">", 1750]}]}}, False),
        ({"data": {"tags": ["b"]}}, True),
        ({"data": {"live": [False]}}, True),
        ({"data": {"live": [0]}}, False),
        ({"data": {"none": [None]}}, True),
        ({"data": {"cdn": {"name": [{"equals-ignore-case": "fastly"}]}}}, True),
        ({"data": {"cdn": {"name": {"deeper": ["x"]}}}}, False),
        ({"$or": [{"type": ["x"]}, {"data": {"bitrate": [1750]}}]}, True),
        ({"$or": [{"type": ["x"]}, {"type": ["y"]}]}, False),
    ],
)
def test_patterns_mean_what_they_mean_to_eventbridge(pattern: dict[str, object], matches: bool) -> None:
    assert matcher(pattern)(EVENT) is matches


def test_the_members_a_pattern_looks_at_are_known_so_that_data_is_parsed_only_for_it() -> None:
    assert fields({}) == set()
    assert fields({"source": ["s"], "$or": [{"type": ["x"]}, {"data": {"a": [1]}}]}) == {
        "source",
        "type",
        "data",
    }
