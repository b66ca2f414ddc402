"""`python -m scripts.settings_page` writes docs/settings.md: the settings of processes, from their code.

collect, the deployer, the management API and the console have tables by hand, in words for who operates them.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from pipelines.control.audit.settings import AuditSettings
from pipelines.control.canary.settings import CanarySettings
from pipelines.control.observe.alarms.settings import AlarmSettings
from pipelines.control.observe.settings import ObserveSettings
from pipelines.control.provision.settings import ProvisionSettings
from pipelines.control.trace.settings import TraceSettings
from pipelines.data.retry.settings import RetrySettings
from pipelines.data.transmit.settings import TransmitSettings
from shared.runtime.settings import (
    BodySettings,
    BuildSettings,
    DocumentsSettings,
    ProcessSettings,
    SideSettings,
    SparkSettings,
)

PAGE: Final = Path(__file__).parents[1] / "docs" / "settings.md"

_HEAD: Final = """# Settings

The environment variables of the processes that have no table of their own, as the code has them
(`settings.py` of each node, `shared/runtime/settings.py`). Written by `python -m scripts.settings_page`.
Tables by hand: [collect](collect.md#settings), [the deployer](releases.md#settings),
[the management API and the console](management.md#settings). A process has its own settings and those that
it shares with others. On a local side each gets the environment of `hifi up`; in AWS the pods' manifests set
them, and a person [the environment's `.env` file](../infra/workloads/README.md#settings-of-an-environment).
"""

_SECTIONS: Final[Mapping[str, type[BaseSettings]]] = {
    "Every process": BuildSettings,
    "Every process of a side": ProcessSettings,
    "Those of them that use its brokers: all but the console": SideSettings,
    "Spark's nodes: ingest, route, transmit, audit": SparkSettings,
    "Processes that read or write documents": DocumentsSettings,
    "HTTP servers: API, console and observe (collect has its own)": BodySettings,
    "transmit": TransmitSettings,
    "retry": RetrySettings,
    "audit": AuditSettings,
    "observe": ObserveSettings,
    "observe's alarms": AlarmSettings,
    "canary": CanarySettings,
    "trace": TraceSettings,
    "provision": ProvisionSettings,
}
"""Fields that a class inherits are in the section of the class that has them first."""


def page() -> str:
    """The page in Markdown."""
    return "\n".join((_HEAD, *_sections()))


def _sections() -> Iterator[str]:
    for title, settings in _SECTIONS.items():
        yield f"## {title}\n\n| variable | default | |\n|---|---|---|"
        yield from (_row(name, field) for name, field in _own(settings).items())
        yield ""


def _own(settings: type[BaseSettings]) -> Mapping[str, FieldInfo]:
    """The fields that a class declares itself, those of its bases without a section included."""
    others = (each for each in _SECTIONS.values() if each is not settings and issubclass(settings, each))
    known = {name for each in others for name in each.model_fields}
    return {name: field for name, field in settings.model_fields.items() if name not in known}


def _row(name: str, field: FieldInfo) -> str:
    text = (field.description or "").replace("|", "\\|")
    return f"| `HIFI_{name.upper()}` | {_default(field)} | {text} |"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "must be set"
    value = field.get_default(call_default_factory=True)
    if value in (None, "", frozenset()):
        return "none"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f"`{text.lower() if isinstance(value, bool) else text}`"


if __name__ == "__main__":
    PAGE.write_text(page())
