"""The servers that a user has signed in to, in one file of their own."""

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from typing import Final

import msgspec
from msgspec import Struct

from shared.runtime.errors import OperatorError

LOCAL_CONTEXT: Final = "local"
"""Stands for the side in a folder; no context is called so."""


class ContextsError(OperatorError):
    """The file of contexts cannot be read or written, or has no such context."""


class SignIn(Struct, frozen=True, kw_only=True):
    """How the token of a context came from an issuer, and is renewed."""

    issuer: str
    client_id: str
    refresh_token: str | None = None


class Context(Struct, frozen=True, kw_only=True):
    """A server, and the token for it."""

    server: str
    """URL."""

    token: str
    tenant: str | None = None
    """The tenant where none is named."""

    sign_in: SignIn | None = None
    """None for a token of hifi."""


class Contexts(Struct, frozen=True, kw_only=True):
    """All of a user's contexts. Immutable."""

    current: str = LOCAL_CONTEXT
    contexts: Mapping[str, Context] = {}

    def named(self, name: str) -> Context:
        """One context.

        Raises:
            ContextsError: if there is none of that name.
        """
        if name not in self.contexts:
            known = ", ".join([LOCAL_CONTEXT, *sorted(self.contexts)])
            raise ContextsError(
                f"there is no context {name!r}; there are {known}", "`hifi login URL` adds one"
            )
        return self.contexts[name]

    def using(self, name: str) -> "Contexts":
        """The same with another current one."""
        if name != LOCAL_CONTEXT:
            self.named(name)
        return msgspec.structs.replace(self, current=name)

    def adding(self, name: str, context: Context) -> "Contexts":
        """The same with one more, which becomes the current one."""
        if name == LOCAL_CONTEXT:
            raise ContextsError(f"{name!r} stands for the side in a folder; choose another --context")
        return Contexts(current=name, contexts={**self.contexts, name: context})

    def replacing(self, name: str, context: Context) -> "Contexts":
        """The same with another context of that name."""
        return msgspec.structs.replace(self, contexts={**self.contexts, name: context})

    def without(self, name: str) -> "Contexts":
        """The same without one; if it was the current one, that is now the local side."""
        self.named(name)
        left = {each: context for each, context in self.contexts.items() if each != name}
        return Contexts(current=LOCAL_CONTEXT if name == self.current else self.current, contexts=left)


def contexts_file() -> Path:
    """HIFI_CONTEXTS, or `hifi/contexts.yaml` in the user's folder of settings."""
    given = os.environ.get("HIFI_CONTEXTS")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "hifi" / "contexts.yaml"


def read_contexts(file: Path) -> Contexts:
    """The contexts in a file; none if there is no file.

    Raises:
        ContextsError: if it cannot be read.
    """
    try:
        return msgspec.yaml.decode(file.read_bytes(), type=Contexts)
    except FileNotFoundError:
        return Contexts()
    except (OSError, msgspec.MsgspecError, RecursionError) as error:
        raise ContextsError(f"{file} cannot be read: {error}", "correct it, or remove it") from error


def change_contexts(file: Path, change: Callable[[Contexts], Contexts]) -> Contexts:
    """Change the contexts as they are now, while no other command changes them; gives the changed ones.

    Raises:
        ContextsError: if the file cannot be read or written.
    """
    with _alone(file):
        found = read_contexts(file)
        changed = change(found)
        if changed != found:
            _replace(file, msgspec.yaml.encode(changed))
        return changed


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = file.with_name(f"{file.name}.lock").open("a")
    except OSError as error:
        raise _unwritable(file, error) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _replace(file: Path, content: bytes) -> None:
    """Replace the file, which only its owner can read: it holds tokens."""
    try:
        handle, name = mkstemp(prefix=f"{file.name}.", dir=file.parent)
        part = Path(name)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(content)
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(file, error) from error


def _unwritable(file: Path, error: OSError) -> ContextsError:
    return ContextsError(f"{file} cannot be written: {error.strerror}", "set HIFI_CONTEXTS")
