"""Who may do what, as a truth table."""

import pytest

from pipelines.management.api.rights.permissions import Action, Verdict, may, may_grant
from shared.contracts.api_answers.access import Role

ROWS = {
    Role.VIEWER: {Action.KNOW, Action.READ},
    Role.EDITOR: {Action.KNOW, Action.READ, Action.WRITE},
    Role.OWNER: {Action.KNOW, Action.READ, Action.WRITE, Action.TOKENS, Action.MEMBERS, Action.AUDIT},
    Role.OPERATOR: set(Action),
}


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("action", Action)
def test_a_role_may_what_its_row_says_of_its_own_tenant_and_sees_no_other(role: Role, action: Action) -> None:
    tenant = None if role is Role.OPERATOR else "acme"
    allowed = Verdict.ALLOWED if action in ROWS[role] else Verdict.FORBIDDEN
    assert may(role, tenant, action, "acme") is allowed
    assert may(role, tenant, action, None) is allowed
    elsewhere = Verdict.ALLOWED if role is Role.OPERATOR else Verdict.HIDDEN
    assert may(role, tenant, action, "zoo") is elsewhere


@pytest.mark.parametrize("action", Action)
def test_a_person_without_a_role_sees_no_tenant(action: Action) -> None:
    assert may(None, None, action, "acme") is Verdict.HIDDEN
    assert (may(None, None, action, None) is Verdict.ALLOWED) == (action is Action.KNOW)


def test_no_role_grants_one_above_its_own() -> None:
    granted = {role: [other for other in Role if may_grant(role, other)] for role in Role}
    assert granted == {role: list(Role)[: at + 1] for at, role in enumerate(Role)}
