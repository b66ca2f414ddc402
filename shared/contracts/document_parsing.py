"""Reads documents as users write them, which may hold nothing unknown. Pure."""

from collections.abc import Collection, Iterator

import msgspec

from shared.contracts.documents import SAMPLE_STEP, Contact, Document, Pipe, Source, key_digest
from shared.contracts.expressions import ExpressionError, compile_expression
from shared.contracts.masks import MaskError, mask_steps
from shared.contracts.patterns import PatternError, compile_pattern
from shared.contracts.rollout_plan import FULL_SHARE, step_problems
from shared.contracts.watches import WatchError, check_watches
from shared.contracts.webhook_url import webhook_problem
from shared.contracts.write_keys import write_key_problem


class ConfigError(ValueError):
    """An invalid document. `path` names the field (`$.match.data`), the text the fix."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def parse(raw: object) -> Document:
    """A document from plain YAML or JSON values.

    Raises:
        ConfigError: with the path of the field that is wrong.
    """
    try:
        document: Document = msgspec.convert(raw, Document)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `")
        raise ConfigError(path.rstrip("`") or "$", message) from error
    for place, message, _ in unknown_fields(raw, msgspec.to_builtins(document), "$"):
        raise ConfigError(place, message)
    if isinstance(document, Source):
        _check_source(document)
    if isinstance(document, Pipe):
        _check_pipe(document)
    if isinstance(document, Contact):
        _check_contact(document)
    return document


def unknown_fields(raw: object, known: object, path: str) -> Iterator[tuple[str, str, Collection[str]]]:
    """Fields of `raw` that are not in what it was decoded to.

    Of each the path, below the one given, a sentence, and the names of the fields that are known there.
    """
    if isinstance(raw, list) and isinstance(known, list):
        for at, (value, understood) in enumerate(zip(raw, known, strict=False)):
            yield from unknown_fields(value, understood, f"{path}[{at}]")
    if not isinstance(raw, dict) or not isinstance(known, dict):
        return
    for name, value in raw.items():
        if name not in known:
            yield (
                f"{path}.{name}",
                f"{path.rpartition('.')[2].replace('$', 'a document')} has no field {name!r}",
                known.keys(),
            )
        yield from unknown_fields(value, known.get(name), f"{path}.{name}")


def _check_source(source: Source) -> None:
    for at, key in enumerate(source.write_keys):
        problem = write_key_problem(key)
        if problem:
            raise ConfigError(f"$.write_keys[{at}]", problem)
    first: dict[str, int] = {}
    for at, digest in enumerate(map(key_digest, source.write_keys)):
        if first.setdefault(digest, at) != at:
            said = f"is the same key as write_keys[{first[digest]}]; leave one of them out"
            raise ConfigError(f"$.write_keys[{at}]", said)


def _check_pipe(pipe: Pipe) -> None:
    try:
        compile_pattern(pipe.match)
    except PatternError as error:
        raise ConfigError(f"$.match{error.path}", str(error)) from error
    if pipe.sample and pipe.sample < SAMPLE_STEP:
        raise ConfigError("$.sample", f"the smallest sample is {SAMPLE_STEP} percent; 0 takes nothing")
    if pipe.ramp and pipe.ramp.start.tzinfo is None:
        raise ConfigError("$.ramp.start", "a time needs its offset, for example 2026-01-31T12:00:00Z")
    _check_rollout(pipe)
    for at, mask in enumerate(pipe.masks):
        try:
            mask_steps(mask.path)
        except MaskError as error:
            raise ConfigError(f"$.masks[{at}].path", str(error)) from error
    if pipe.transform is not None:
        try:
            compile_expression(pipe.transform)
        except ExpressionError as error:
            raise ConfigError("$.transform", str(error)) from error
    try:
        check_watches(pipe.watch, pipe.masks)
    except WatchError as error:
        raise ConfigError(f"$.watch[{error.at}].field", str(error)) from error


def _check_rollout(pipe: Pipe) -> None:
    if pipe.rollout is None:
        return
    if pipe.ramp is not None:
        raise ConfigError("$.ramp", "a pipe has a ramp or a rollout; leave one of them out")
    if pipe.sample != FULL_SHARE:
        raise ConfigError("$.sample", "the steps of the rollout are the share; leave sample out")
    for path, message in step_problems(pipe.rollout, SAMPLE_STEP):
        raise ConfigError(f"$.rollout{path}", message)


def _check_contact(contact: Contact) -> None:
    if contact.webhook is None and contact.email is None:
        raise ConfigError("$", "a contact needs a `webhook` or an `email`; add one, or both")
    problem = "" if contact.webhook is None else webhook_problem(contact.webhook)
    if problem:
        raise ConfigError("$.webhook", problem)
    if contact.secret is not None and not contact.secret.startswith(f"secret://{contact.tenant}/"):
        raise ConfigError("$.secret", f"is not its tenant's; write it like secret://{contact.tenant}/alarms")
