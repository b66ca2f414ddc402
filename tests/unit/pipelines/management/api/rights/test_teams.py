"""Members of a tenant: after all actions an owner is left, and no other member has changed."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.management.api.rights.teams import (
    MOST_MEMBERS,
    Member,
    NoMemberError,
    Team,
    TeamError,
    joined,
    owners,
    with_role,
    without,
)
from shared.contracts.api_answers.access import Role

ROLES = st.sampled_from([Role.VIEWER, Role.EDITOR, Role.OWNER])
IDS = st.sampled_from("abcd")
ACTS = st.one_of(
    st.tuples(st.just("join"), IDS, ROLES),
    st.tuples(st.just("change"), IDS, ROLES),
    st.tuples(st.just("remove"), IDS, st.none()),
)


def member(name: str, role: Role) -> Member:
    return Member(id=name, role=role, label=name, since_ms=0, invited_by="x")


def done(team: Team, act: str, name: str, role: Role | None, *, by_operator: bool = False) -> Team:
    """The team after an action, or unchanged if the action is refused."""
    try:
        if act == "remove":
            return without(team, name, by_operator=by_operator)
        assert role is not None
        if act == "join":
            return joined(team, member(name, role))
        return with_role(team, name, role, by_operator=by_operator)
    except (TeamError, NoMemberError):
        return team


@given(st.lists(ACTS, max_size=30))
def test_once_there_is_an_owner_one_stays_and_each_act_changes_one_member(
    acts: list[tuple[str, str, Role | None]],
) -> None:
    team = Team()
    for act, name, role in acts:
        after = done(team, act, name, role)
        assert owners(after) or not owners(team)
        others = [{key: each for key, each in one.members.items() if key != name} for one in (team, after)]
        assert others[0] == others[1]
        assert after.revision == team.revision + (after is not team)
        team = after


@given(ROLES, ROLES)
def test_a_second_invitation_lowers_nobody(first: Role, second: Role) -> None:
    team = joined(joined(Team(), member("a", first)), member("a", second))
    assert team.members["a"].role is max(first, second, key=list(Role).index)


def test_an_operator_may_remove_and_lower_the_last_owner() -> None:
    team = joined(Team(), member("a", Role.OWNER))
    assert not without(team, "a", by_operator=True).members
    assert owners(with_role(team, "a", Role.VIEWER, by_operator=True)) == 0


def test_a_full_team_takes_nobody_new_and_keeps_who_is_there() -> None:
    team = Team(members={str(at): member(str(at), Role.OWNER) for at in range(MOST_MEMBERS)})
    assert done(team, "join", "new", Role.VIEWER) is team
    assert joined(team, member("1", Role.VIEWER)).members["1"].role is Role.OWNER
