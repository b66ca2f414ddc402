"""A HIFI_* variable has one meaning: `hifi up` and an environment's `.env` file set it for every process."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

from pydantic_settings import BaseSettings

_ROOT: Final = Path(__file__).parents[2]

_ONE_MEANING: Final[Mapping[str, str]] = {
    "HIFI_BODIES_BYTES": "bytes that the bodies of all requests may take together",
    "HIFI_BODY_TIMEOUT": "seconds in which a request's body must arrive",
    "HIFI_BOOTSTRAP": "the side's brokers",
    "HIFI_DOCUMENTS_ENDPOINT": "URL of DynamoDB Local",
    "HIFI_DOCUMENTS_TABLE": "table of the customers' documents",
    "HIFI_DRAIN_TIMEOUT": "seconds for what is in flight at a stop",
    "HIFI_HOST": "address to listen on",
    "HIFI_LEASE_SECONDS": "seconds of silence after which another process of the same program takes over",
    "HIFI_METRICS_PORT": "port of metrics",
    "HIFI_OBSERVE_URL": "URL of observe",
    "HIFI_OIDC_ISSUER": "the OpenID Connect issuer that signs people in",
    "HIFI_PORT": "port to listen on",
    "HIFI_PUBLIC_URL": "where clients find the process behind a proxy",
    "HIFI_SECRETS": "YAML file that holds the secrets",
}
"""Variables that several processes declare with different defaults and the same meaning."""


def _processes() -> Iterator[type[BaseSettings]]:
    """Settings of all programs of a side, with their base classes."""
    for path in sorted((_ROOT / "pipelines").rglob("settings.py")):
        module = import_module(".".join(path.relative_to(_ROOT).with_suffix("").parts))
        for found in vars(module).values():
            if isinstance(found, type) and issubclass(found, BaseSettings) and found is not BaseSettings:
                yield found


def _declarations() -> Mapping[str, set[str]]:
    """The classes that declare each variable."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for process in _processes():
        for field in process.model_fields:
            owner = next(base for base in process.__mro__ if field in vars(base).get("__annotations__", {}))
            found[f"{process.model_config['env_prefix']}{field}".upper()].add(owner.__qualname__)
    return found


def test_a_variable_that_two_processes_declare_means_the_same_to_both() -> None:
    declared = {name: owners for name, owners in _declarations().items() if len(owners) > 1}
    clashes = {name: owners for name, owners in declared.items() if name not in _ONE_MEANING}
    assert not clashes, "rename one of each, or add what both mean to _ONE_MEANING"
    assert declared.keys() == _ONE_MEANING.keys()
