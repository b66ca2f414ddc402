"""Secrets: fetched when named, kept while the store does not answer, never shown."""

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
import pytest

from shared.contracts.document_parsing import parse
from shared.contracts.documents import Destination, Pipe, Source
from shared.contracts.secrets import UnknownSecretError, mask_secret, named_secrets, secret_name
from shared.runtime.secret_stores import NoStore, SecretsFile, SecretsManager, store_for
from shared.runtime.secrets import SecretStoreError, SecretTable
from tests.harness.waiting import eventually

VALUE = "canary-in-a-coal-mine"
HOUR = 3_600.0
SECONDS = 60


class Store:
    """A scripted store; `answer` blocks until it is called."""

    def __init__(self, **values: str | None) -> None:
        self.values: dict[str, str | None] = dict(values)
        self.error: Exception | None = None
        self.given_first = ""
        """The only secret answered before the error."""

        self.most = 1_000_000
        """Number of names that a round answers before the service refuses more."""

        self.let: threading.Semaphore | None = None
        """Released for each name that may be answered; None permits all."""

        self.orders: list[list[str]] = []
        self.asked = threading.Semaphore(0)

    def fetch(self, names: Sequence[str]) -> Iterator[Mapping[str, str | None]]:
        self.orders.append([])
        try:
            for at, name in enumerate(names):
                self.orders[-1].append(name)
                if self.let is not None:
                    assert self.let.acquire(timeout=SECONDS)
                if at == self.most:
                    raise SecretStoreError("throttled")
                if self.error is not None and name != self.given_first:
                    raise self.error
                yield {name: self.values[name]} if name in self.values else {}
        finally:
            self.asked.release()


@pytest.fixture
def store() -> Store:
    return Store(a=VALUE, b="other")


@pytest.fixture
def secrets(store: Store) -> Iterator[SecretTable]:
    found = SecretTable(store, HOUR).start()
    yield found
    found.stop()


def wanted(secrets: SecretTable, *names: str) -> SecretTable:
    secrets.want(names)
    assert secrets.wait(SECONDS)
    return secrets


def test_a_wanted_secret_is_in_memory_at_once_long_before_the_next_refresh(secrets: SecretTable) -> None:
    assert wanted(secrets, "a").get("secret://a") == VALUE
    assert wanted(secrets, "a", "b").get("secret://b") == "other"


def test_secrets_that_no_document_names_are_never_fetched(secrets: SecretTable, store: Store) -> None:
    assert secrets.wait(SECONDS)
    assert not store.asked.acquire(blocking=False)
    with pytest.raises(UnknownSecretError):
        secrets.get("secret://a")


@pytest.mark.parametrize(
    "reference", ["secret://c", "a", "SECRET://a", "secret:/a", "", "secret://", "secret://A"]
)
def test_missing_secrets_and_invalid_references_are_unknown(secrets: SecretTable, reference: str) -> None:
    with pytest.raises(UnknownSecretError):
        wanted(secrets, "a", "c").get(reference)


@pytest.mark.parametrize("error", [SecretStoreError("silent"), RuntimeError(VALUE)])
def test_known_secrets_stay_in_force_while_the_store_does_not_answer(
    secrets: SecretTable, store: Store, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    wanted(secrets, "a")
    store.error = error
    with caplog.at_level(logging.DEBUG):
        assert wanted(secrets, "a", "b").get("secret://a") == VALUE
    assert VALUE not in "".join(str(record.__dict__) for record in caplog.records)


def test_what_was_read_before_the_store_failed_is_in_force_and_new_ones_are_read_first(
    secrets: SecretTable, store: Store
) -> None:
    wanted(secrets, "a")
    store.error, store.given_first = SecretStoreError("throttled"), "b"
    assert wanted(secrets, "a", "b", "c").get("secret://b") == "other"
    assert secrets.get("secret://a") == VALUE


MADE_UP = [f"aaa/x{number:03}" for number in range(200)]


@pytest.fixture
def throttled(store: Store) -> Iterator[SecretTable]:
    """Secrets from a store that answers 20 names a round; rounds follow each other at once."""
    store.most = 20
    store.values |= {"zoo/old": "old", "zoo/new": "new"} | dict.fromkeys(MADE_UP)
    found = SecretTable(store, 0.01).start()
    yield found
    found.stop()


def test_made_up_names_of_one_tenant_come_before_no_other_tenants_first_ones(
    throttled: SecretTable, store: Store
) -> None:
    wanted(throttled, "zoo/old")
    assert wanted(throttled, "zoo/old", *MADE_UP, "zoo/new").get("secret://zoo/new") == "new"
    store.values["zoo/old"] = "rotated"
    eventually(lambda: throttled.get("secret://zoo/old") == "rotated", SECONDS)


def all_are(secrets: SecretTable, names: Sequence[str], value: str) -> bool:
    """Whether all of these secrets are known with this value."""
    try:
        return all(secrets.get(f"secret://{name}") == value for name in names)
    except UnknownSecretError:
        return False


def test_where_a_round_was_throttled_the_next_goes_on(throttled: SecretTable, store: Store) -> None:
    names = [f"mid/{n:02}" for n in range(50)]
    for value in ("old", "rotated"):
        store.values |= dict.fromkeys(names, value)
        throttled.want(names)
        eventually(partial(all_are, throttled, names, value), SECONDS)


def test_a_new_secret_does_not_wait_for_the_rest_of_the_round(store: Store, secrets: SecretTable) -> None:
    store.let = threading.Semaphore(0)
    secrets.want(MADE_UP)
    eventually(lambda: store.orders == [MADE_UP[:1]], SECONDS)
    secrets.want([*MADE_UP, "b"])
    store.let.release(1_000)
    assert secrets.wait(SECONDS)
    assert secrets.get("secret://b") == "other"
    assert [len(order) for order in store.orders] == [1, 201]
    assert "b" in store.orders[1][:2]


def test_waiting_for_a_secret_ends_when_it_was_read_before_the_rest_of_the_round(
    store: Store, secrets: SecretTable
) -> None:
    store.let = threading.Semaphore(1)
    secrets.want(["a", "b"])
    assert secrets.wait_for({"a"}, SECONDS)
    assert secrets.get("secret://a") == VALUE
    assert not secrets.wait_for({"a", "b"}, 0.01)
    store.let.release()
    assert secrets.wait_for({"b"}, SECONDS)


def test_waiting_for_a_secret_ends_when_the_store_fails(secrets: SecretTable, store: Store) -> None:
    store.error = SecretStoreError("silent")
    secrets.want(["a"])
    assert secrets.wait_for({"a"}, SECONDS)
    with pytest.raises(UnknownSecretError):
        secrets.get("secret://a")


def test_of_many_missing_secrets_the_log_names_a_few(
    secrets: SecretTable, caplog: pytest.LogCaptureFixture
) -> None:
    wanted(secrets, *MADE_UP)
    (found,) = [each for each in caplog.records if "secrets missing" in each.message]
    assert (found.__dict__["count"], found.__dict__["names"]) == (200, MADE_UP[:20])


def test_a_secret_that_could_not_be_read_this_time_stays_and_a_deleted_one_goes(
    secrets: SecretTable, store: Store
) -> None:
    wanted(secrets, "a", "b")
    del store.values["a"]
    store.values |= {"b": None, "c": "new"}
    assert wanted(secrets, "a", "b", "c").get("secret://a") == VALUE
    with pytest.raises(UnknownSecretError):
        secrets.get("secret://b")


def test_a_secret_that_is_no_longer_wanted_is_kept_for_what_is_under_way(
    secrets: SecretTable, store: Store
) -> None:
    wanted(secrets, "a")
    store.values |= {"c": "new", "d": "newer"}
    for name in ("c", "d"):
        assert wanted(secrets, name).get("secret://a") == VALUE


def test_a_secret_that_is_no_longer_wanted_is_read_last_and_goes_if_it_was_deleted(
    secrets: SecretTable, store: Store
) -> None:
    wanted(secrets, "a")
    store.values["a"] = None
    wanted(secrets, "b")
    assert store.orders[-1] == ["b", "a"]
    with pytest.raises(UnknownSecretError):
        secrets.get("secret://a")


def test_a_secret_that_is_no_longer_wanted_is_dropped_after_a_while(store: Store) -> None:
    secrets = wanted(SecretTable(store, 0.05).start(), "a")
    secrets.want(["b"])
    eventually(lambda: not all_are(secrets, ["a"], VALUE), SECONDS)
    eventually(lambda: store.orders[-1] == ["b"], SECONDS)
    secrets.stop()


def test_a_changed_secret_is_in_force_after_the_refresh(store: Store) -> None:
    secrets = wanted(SecretTable(store, 0.01).start(), "a")
    store.values["a"] = "changed"
    eventually(lambda: secrets.get("secret://a") == "changed", SECONDS)
    secrets.stop()


def test_no_text_of_it_holds_a_value(secrets: SecretTable) -> None:
    wanted(secrets, "a")
    with pytest.raises(UnknownSecretError, match="secret://c") as raised:
        secrets.get("secret://c")
    assert VALUE not in f"{secrets!r} {raised.value!r} {raised.value} {raised.value.__context__!r}"


def test_a_stopped_one_has_forgotten_all(store: Store) -> None:
    secrets = wanted(SecretTable(store, HOUR).start(), "a")
    secrets.stop()
    with pytest.raises(UnknownSecretError):
        secrets.get("secret://a")


def test_exactly_the_secrets_that_destinations_name_are_loaded() -> None:
    options = {
        "a": "secret://t/in.a/place",
        "b": [{"c": "secret://t/deep"}],
        "f": "secret://u/x",
        "g": "secret://t",
        "d": "secret://NO",
        "e": 1,
    }
    destination = Destination(name="d", tenant="t", options=options)
    source = Source(name="s", tenant="t", write_keys=["secret://of-a-source"])
    pipe = Pipe(name="p", tenant="t", source="s", destination="d", match={"type": ["secret://pattern"]})
    assert named_secrets([destination, source, pipe]) == {"t/in.a/place", "t/deep"}
    assert secret_name(mask_secret("t")) == "t/masks"


@pytest.mark.parametrize("text", ["", "a: canary-in-a-coal-mine\nb: '2'\nc/d.e: |\n  long\n  text\n"])
def test_a_file_of_its_owner_alone_is_read(tmp_path: Path, text: str) -> None:
    (found,) = SecretsFile(written(tmp_path, text)).fetch(["a", "c/d.e", "z"])
    assert found == ({"a": VALUE, "c/d.e": "long\ntext\n", "z": None} if text else dict.fromkeys(found))


LAUGHS = f"a: {VALUE}\na0: &a0 {{b: {VALUE}}}\n" + "\n".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 7)
)
"""A few lines with aliases that stand for a million values."""


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o610])
def test_a_file_that_others_may_read_is_refused_with_the_fix(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path, f"a: {VALUE}")
    path.chmod(mode)
    with pytest.raises(SecretStoreError, match=f"has mode {mode:04o}.*chmod 600"):
        list(SecretsFile(path).fetch(["a"]))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"a: [{VALUE}", "line 1: is not YAML"),
        (f"a: {VALUE}\n\tb: {VALUE}", "line 2: is not YAML"),
        (f"{VALUE}", "write a line"),
        (f"- {VALUE}", "write a line"),
        ("a: 1234", "put the value of 'a' in quotes"),
        (f"a: {{b: {VALUE}}}", "put the value of 'a' in quotes"),
        ("a:", "put the value of 'a' in quotes"),
        (f"a: !!python/object:{VALUE} {VALUE}", "is not YAML"),
        (f"\x00{VALUE}", "is not YAML"),
        (LAUGHS, "line 6: aliases repeat more than"),
        (f"a: &a [{VALUE}, *a]", "line 1: an alias inside its own anchor"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_without_a_word_of_it(
    tmp_path: Path, text: str, says: str
) -> None:
    with pytest.raises(SecretStoreError, match=says) as raised:
        list(SecretsFile(written(tmp_path, text)).fetch(["a"]))
    assert VALUE not in f"{raised.value} {raised.value.__cause__}"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SecretStoreError, match=r"none\.yaml cannot be read: No such file"):
        list(SecretsFile(tmp_path / "none.yaml").fetch(["a"]))


def test_where_a_side_keeps_its_secrets(tmp_path: Path) -> None:
    assert isinstance(store_for("blue", None), SecretsManager)
    assert isinstance(store_for("local", None), NoStore)
    assert isinstance(store_for("blue", tmp_path), SecretsFile)


def written(folder: Path, text: str) -> Path:
    path = folder / "secrets.yaml"
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_a_document_holds_references_only() -> None:
    raw = {"kind": "source", "name": "s", "tenant": "t", "write_keys": ["secret://a"]}
    assert VALUE not in str(msgspec.to_builtins(parse(raw)))
