"""`hifi dead-letters` and its subcommands."""

import json
from collections import deque
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from scripts.cli.commands.options import DATA_DEFAULT, Data
from scripts.dead_letters.tables import kinds, listed, whole
from scripts.documents.topic import read_catalogue
from scripts.local.client.connection import side_bootstrap
from scripts.terminal import REFUSED, err, out
from scripts.time_args import moment_ms
from shared.contracts.documents import Catalogue
from shared.contracts.replays import LetterKey
from shared.dead_letters.dead_letter import DeadLetter, Filter, as_mapping, reference, still_open
from shared.dead_letters.replayer import NotReplayedError, Replayer
from shared.dead_letters.store import DeadLetterStore
from shared.dead_letters.summary import Summary, summarize
from shared.kafka.errors import kafka_errors_explained
from shared.runtime.clock import wall_clock
from shared.runtime.errors import OperatorError, UsageError

GROUP = typer.Typer(no_args_is_help=True)

Tenant = Annotated[str | None, typer.Option(help="Only of this tenant.")]
Pipe = Annotated[str | None, typer.Option(help="Only of this pipe.")]
Destination = Annotated[str | None, typer.Option(help="Only of this destination.")]
Reason = Annotated[str | None, typer.Option(help="Only with this text in the reason, ignoring case.")]
Since = Annotated[str | None, typer.Option(help="Only those written since then: 2h, 3d, or an ISO time.")]
Until = Annotated[str | None, typer.Option(help="Only those written before then: 2h, 3d, or an ISO time.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@GROUP.callback()
def dead_letters() -> None:
    """List the events that could not be delivered, and replay them."""


@GROUP.command("list")
def list_letters(  # noqa: PLR0913, PLR0917 - one parameter an option
    tenant: Tenant = None,
    pipe: Pipe = None,
    destination: Destination = None,
    reason: Reason = None,
    since: Since = None,
    until: Until = None,
    every: Annotated[bool, typer.Option("--all", help="Include those that were replayed.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="Show at most so many: the newest.")] = 50,
    as_json: Json = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """List dead letters that were not replayed, oldest first."""
    wanted = _filter(tenant, pipe, destination, reason, since, until)
    with _opened(data) as (store, _):
        newest: deque[DeadLetter] = deque(maxlen=limit)
        found = 0
        for letter in still_open(store.letters(wanted), {} if every else store.replayed):
            newest.append(letter)
            found += 1
        if as_json:
            typer.echo(_json([as_mapping(letter, store.replayed, body=False) for letter in newest]))
        elif newest:
            out().print(listed(newest, store.replayed))
        err().print(f"[dim]{found:,} dead letters[/]" + _cut_short(found, limit))


def _cut_short(found: int, limit: int) -> str:
    return f", the newest {limit:,} are shown; --limit N shows more" if found > limit else ""


@GROUP.command("show")
def show_letter(
    letter: Annotated[str, typer.Argument(help="`partition/offset` as `list` prints it, or an event id.")],
    body: Annotated[bool, typer.Option("--body", help="Include the event's data.")] = False,
    as_json: Json = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Show all fields of a dead letter, or of each with an event id."""
    place = reference(letter)
    wanted = Filter(event_id=letter) if place is None else Filter(places=frozenset((place,)))
    with _opened(data) as (store, _):
        found = list(store.letters(wanted))
        if as_json:
            typer.echo(_json([as_mapping(one, store.replayed, body=body) for one in found]))
        else:
            for one in found:
                out().print(whole(one, store.replayed, body=body))
        if not found:
            raise OperatorError(f"no dead letter {letter!r}", "`hifi dead-letters list --all` lists them")


@GROUP.command("replay")
def replay_letters(  # noqa: PLR0913, PLR0917 - one parameter an option
    letters: Annotated[
        list[str] | None,
        typer.Argument(help="`partition/offset` of each; default: all that match the options."),
    ] = None,
    tenant: Tenant = None,
    pipe: Pipe = None,
    destination: Destination = None,
    reason: Reason = None,
    since: Since = None,
    until: Until = None,
    again: Annotated[bool, typer.Option("--again", help="Include those that were replayed before.")] = False,
    rate: Annotated[float, typer.Option(min=1, help="Most letters per second.")] = 1_000,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count them, replay nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: Json = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Replay dead letters: new deliveries with the same ids, a new first attempt and 24 hours of retries.

    Letters that were replayed before are left out, also those that others replay before you confirm, as are
    letters written after the command has started: an event that fails again is a new letter. The copies are
    written to `outbound`.
    """
    wanted = _filter(tenant, pipe, destination, reason, since, until, letters)
    with _opened(data) as (store, catalogue):
        closed: Container[LetterKey] = () if again else store.replayed
        summary = summarize(store.letters(wanted), closed)
        if summary.letters and not as_json:
            out().print(kinds(summary, catalogue.pipes))
        go = summary.letters > 0 and not dry_run and (yes or _agreed(summary.letters))
        if go:
            store.refresh()  # the question may have waited for long, and others replay too
        sent = _sent(data, still_open(store.letters(wanted), closed), rate, summary.letters) if go else 0
        _report(summary, sent, as_json=as_json, dry_run=dry_run, go=go)
        if summary.letters and not (go or dry_run):
            raise typer.Exit(REFUSED)


def _sent(data: Path, letters: Iterator[DeadLetter], rate: float, count: int) -> int:
    sender = Replayer(side_bootstrap(data), wall_clock)
    try:
        sender.send(letters, rate)
    except NotReplayedError as error:
        raise OperatorError(f"{sender.sent:,} of {count:,} replayed: {error}") from error
    except KeyboardInterrupt as error:
        done = f"{sender.sent:,} of {count:,} replayed"
        raise OperatorError(done, "run the replay again: it skips what is done") from error
    return sender.sent


def _agreed(count: int) -> bool:
    return typer.confirm(f"replay {count:,} dead letters?", err=True)


def _report(summary: Summary, sent: int, *, as_json: bool, dry_run: bool, go: bool) -> None:
    if as_json:
        rows = [
            {
                "tenant": kind.tenant,
                "pipe": kind.pipe,
                "destination": kind.destination or None,
                "reason": kind.word,
                "letters": count,
            }
            for kind, count in summary.kinds.most_common()
        ]
        counts = {"matching": summary.letters, "replayed_before": summary.skipped, "replayed": sent}
        typer.echo(_json(counts | {"dry_run": dry_run, "kinds": rows}))
        return
    before = f", {summary.skipped:,} were replayed before; --again includes them" if summary.skipped else ""
    done = "[yellow]dry run[/]: nothing was replayed" if dry_run else f"{sent:,} [green]replayed[/]"
    by_others = summary.letters - sent if go else 0
    meanwhile = f", {by_others:,} were replayed by others meanwhile" if by_others else ""
    out().print(f"{done}; {summary.letters:,} match{meanwhile}{before}")


def _filter(  # noqa: PLR0913, PLR0917 - one parameter an option
    tenant: str | None,
    pipe: str | None,
    destination: str | None,
    reason: str | None,
    since: str | None,
    until: str | None,
    letters: list[str] | None = None,
) -> Filter:
    now_ms = wall_clock()
    places = [reference(text) for text in letters or ()]
    if None in places:
        raise UsageError("letters are named by `partition/offset`, as `hifi dead-letters list` prints them")
    try:
        return Filter(
            tenant=tenant,
            pipe=pipe,
            destination=destination,
            reason=reason,
            since_ms=None if since is None else moment_ms(since, now_ms),
            until_ms=None if until is None else moment_ms(until, now_ms),
            places=frozenset(place for place in places if place) or None,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error


@contextmanager
def _opened(data: Path) -> Iterator[tuple[DeadLetterStore, Catalogue]]:
    bootstrap = side_bootstrap(data)
    catalogue = read_catalogue(bootstrap)
    leads_to = {key: pipe.destination for key, pipe in catalogue.pipes.items()}
    with kafka_errors_explained(bootstrap), DeadLetterStore(bootstrap, leads_to, wall_clock) as store:
        yield store, catalogue


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
