"""The members of a tenant, and invitations: list, invite, change a role, remove, withdraw."""

from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi import Request, Response
from nicegui import ui

from pipelines.management.console import formatting
from pipelines.management.console.api_client import ProblemError
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.pages.frame import MEMBERS, agreed, button, question, show_secret, trail
from pipelines.management.console.pages.visit import Desk, Shown, Visit, refusal
from pipelines.management.console.panels.base import pickable, table, write
from pipelines.management.console.signing_in.invitations import invitation_link
from pipelines.management.console.signing_in.sign_in import HOME
from shared.contracts.api_answers.access import ChangedMember, InvitationView, LeftAccess, MemberView, Role

_SECONDS: Final = 30.0
_ROLES: Final = {
    Role.VIEWER.value: "viewer: reads",
    Role.EDITOR.value: "editor: also writes documents and keys",
    Role.OWNER.value: "owner: also handles members and tokens",
}
_DAYS: Final = 7
_MOST_DAYS: Final = 30
_ALSO_ENDS: Final = "Also revoke the tokens and withdraw the invitations that the member made"
_ENDS_ABOVE: Final = (
    "Also revoke the tokens and withdraw the invitations that the member made above this role"
)
_LINK_TEXT: Final = "Send this link to the person: whoever opens it first joins. It is shown only this once."


def add_member_pages(shown: Shown, desk: Desk) -> None:
    """Register the page; before those of documents, since the addresses of those would also fit."""

    @ui.page(HOME + "/{tenant}/" + MEMBERS, title="hifi: members", response_timeout=_SECONDS)
    async def members(request: Request, tenant: str) -> Response | None:
        origin = desk.origin(request)

        async def build(visit: Visit) -> Callable[[], object]:
            found = await visit.account.members(tenant)
            invited = await visit.account.invitations(tenant)
            return lambda: Members(visit, origin, found, invited)

        return await shown(request, tenant, MEMBERS, build)


class Members:
    """The page."""

    def __init__(
        self, visit: Visit, origin: str, members: list[MemberView], invited: list[InvitationView]
    ) -> None:
        self._visit, self._origin = visit, origin
        with ui.element("section").classes("card span-12"):
            write(trail(("Members", "")))
            self._members = pickable(self._picked)
        with ui.element("section").classes("card span-12"):
            write(tag("h2", "Invitations"))
            self._invited = pickable(self._withdraw)
            self._form()
        self._show(members, invited)

    def _form(self) -> None:
        with ui.element("form").classes("form").on("submit.prevent", self._invite):
            self._label = ui.input("Who it is for").props(
                "outlined dense maxlength=100 data-testid=invite-label"
            )
            self._role = _roles(Role.VIEWER.value).props("data-testid=invite-role")
            self._days = ui.number("Days", value=_DAYS, min=1, max=_MOST_DAYS).props(
                "outlined dense data-testid=invite-days"
            )
            button("Invite", lambda: None, "invite", "main").props("type=submit")

    def _show(self, members: list[MemberView], invited: list[InvitationView]) -> None:
        self._known = {each.id: each for each in members}
        titles = ["Member", "Role", "Since, UTC", "Invited by", ""]
        empty = tag("p", "No members yet; tokens are not members.", class_="empty")
        rows = [_member_row(each) for each in members]
        self._members.content = table("members", titles, rows) if members else empty
        titles = ["For", "Role", "Until, UTC", "By", ""]
        none = tag("p", "No invitation is open.", class_="empty")
        rows = [_invitation_row(each) for each in invited]
        self._invited.content = table("invitations", titles, rows) if invited else none

    async def _invite(self) -> None:
        visit, label = self._visit, (self._label.value or "").strip()
        if not label:
            ui.notify("Write whom the invitation is for: a name or an address.", type="warning")
            return
        days = float(self._days.value or _DAYS)
        try:
            text = await visit.allowed(visit.account.invite(visit.tenant, self._role.value, label, days))
        except (ProblemError, UnreachableError) as error:
            said = refusal(error) if isinstance(error, ProblemError) else str(error)
            ui.notify(said, type="negative", timeout=8_000)
            return
        self._label.value = ""
        await show_secret("The invitation", _LINK_TEXT, invitation_link(self._origin, text), "new-invitation")
        await self._load()

    async def _picked(self, picked: str) -> None:
        act, _, member_id = picked.partition(":")
        member = self._known.get(member_id)
        if member is not None:
            await (self._change(member) if act == "role" else self._remove(member))

    async def _change(self, member: MemberView) -> None:
        chosen = await _chosen_role(member)
        if chosen is not None and chosen != (member.role, False):
            role, ends = chosen
            await self._do(self._changed(member, role, revoke=ends))

    async def _changed(self, member: MemberView, role: str, *, revoke: bool) -> None:
        account, tenant = self._visit.account, self._visit.tenant
        _notify_of(await account.set_role(tenant, member.id, role, revoke=revoke))

    async def _remove(self, member: MemberView) -> None:
        ends = await _removal(member)
        if ends is not None:
            await self._do(self._removed(member, revoke=ends))

    async def _removed(self, member: MemberView, *, revoke: bool) -> None:
        account, tenant = self._visit.account, self._visit.tenant
        _notify_of(await account.remove_member(tenant, member.id, revoke=revoke))

    async def _withdraw(self, picked: str) -> None:
        if await agreed("Withdraw this invitation?", "Its link then leads nowhere.", "Withdraw"):
            await self._do(self._visit.account.withdraw(self._visit.tenant, picked))

    async def _do(self, act: Coroutine[Any, Any, None]) -> None:
        if await self._visit.change(act):
            await self._load()

    async def _load(self) -> None:
        async def load() -> None:
            account, tenant = self._visit.account, self._visit.tenant
            self._show(await account.members(tenant), await account.invitations(tenant))

        await self._visit.change(load())


def _roles(value: str) -> ui.select:
    return ui.select(_ROLES, value=value, label="Role").props("outlined dense").classes("wide")


async def _chosen_role(member: MemberView) -> tuple[str, bool] | None:
    """Ask which role a member is to have, and whether what it made above that ends; None is as it is."""
    with (
        ui.dialog().props('aria-label="Change the role"') as dialog,
        ui.element("div").classes("card ask"),
    ):
        write(joined(tag("h2", "Change the role"), tag("p", member.label or member.id)))
        chosen = _roles(member.role).props("data-testid=new-role")
        ends = ui.checkbox(_ENDS_ABOVE).props("data-testid=revoke")
        with ui.element("div").classes("acts"):
            button("Cancel", lambda: dialog.submit(None), "cancel")
            button("Change", lambda: dialog.submit((str(chosen.value), bool(ends.value))), "confirm", "main")
    answer: tuple[str, bool] | None = await dialog
    dialog.delete()
    return answer


async def _removal(member: MemberView) -> bool | None:
    """Ask whether to remove a member, and whether what it made ends as well; None is not to remove it."""
    text = f"{member.label or member.id} sees nothing of this tenant from then on."
    with question("Remove this member?", text) as dialog:
        ends = ui.checkbox(_ALSO_ENDS).props("data-testid=revoke")
        with ui.element("div").classes("acts"):
            button("Cancel", lambda: dialog.submit(None), "cancel").props("autofocus")
            button("Remove", lambda: dialog.submit(ends.value), "confirm", "danger")
    answer = await dialog
    dialog.delete()
    return None if answer is None else bool(answer)


def _notify_of(made: LeftAccess | ChangedMember) -> None:
    said = _lives_on(made)
    if said:
        ui.notify(said, type="warning", timeout=0, close_button="Close")


def _lives_on(made: LeftAccess | ChangedMember) -> str:
    """The notice of access above its role that a member made and that lives on; empty if there is none."""
    tokens = [f"token {each.label or each.id} ({each.id})" for each in made.tokens]
    invitations = [f"the invitation for {each.label or each.id}" for each in made.invitations]
    if made.revoked or not (tokens or invitations):
        return ""
    end = " `hifi tokens revoke ID` ends a token." if tokens else ""
    return f"What the member made goes on working: {', '.join(tokens + invitations)}.{end}"


def _member_row(member: MemberView) -> Markup:
    name = member.label or member.id
    return tag(
        "tr",
        tag("th", name, scope="row", class_="long"),
        tag("td", member.role),
        tag("td", formatting.moment(member.since_ms)),
        tag("td", member.invited_by or formatting.NONE, class_="long"),
        tag(
            "td",
            _pick("Change role …", f"role:{member.id}", f"Change the role of {name}"),
            " ",
            _pick("Remove …", f"remove:{member.id}", f"Remove {name}"),
        ),
        data_member=member.id,
    )


def _invitation_row(each: InvitationView) -> Markup:
    return tag(
        "tr",
        tag("th", each.label or each.id, scope="row", class_="long"),
        tag("td", each.role),
        tag("td", formatting.moment(each.expires_ms)),
        tag("td", each.made_by or formatting.NONE, class_="long"),
        tag("td", _pick("Withdraw …", each.id, f"Withdraw the invitation for {each.label or each.id}")),
        data_invitation_id=each.id,
    )


def _pick(text: str, picked: str, says: str) -> Markup:
    return tag("button", text, type="button", class_="pick", data_pick=picked, aria_label=says)
