"""The point from which a side reprocesses a bad version's events."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.deploy.replays import replay_positions
from shared.contracts.releases import Positions
from shared.contracts.topology import INPUTS
from shared.kafka.progress_group import group_name

_OFFSETS = st.dictionaries(st.integers(0, 3).map("collected/{}".format), st.integers(0, 10**9), min_size=1)


def _positions() -> st.SearchStrategy[Positions]:
    queries = st.dictionaries(st.sampled_from(list(INPUTS)), _OFFSETS)
    groups = st.dictionaries(st.sampled_from([group_name(node) for node in INPUTS]), _OFFSETS)
    return st.builds(Positions, queries=queries, groups=groups)


@given(_positions(), _positions())
def test_ingest_alone_goes_back(snapshot: Positions, left_at: Positions) -> None:
    found = replay_positions(snapshot, left_at)
    for at, before, after in (
        ("ingest", snapshot.queries, found.queries),
        (group_name("ingest"), snapshot.groups, found.groups),
    ):
        assert after.get(at) == before.get(at)
    others = {query: offsets for query, offsets in left_at.queries.items() if query != "ingest"}
    assert {query: offsets for query, offsets in found.queries.items() if query != "ingest"} == others
    others = {group: offsets for group, offsets in left_at.groups.items() if group != group_name("ingest")}
    kept = {group: offsets for group, offsets in found.groups.items() if group != group_name("ingest")}
    assert kept == others
