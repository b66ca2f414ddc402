"""Python commands in the docs: their modules exist, and so do the names imported from them."""

import importlib
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])

_FENCED = re.compile(r"(?ms)^ *(```|~~~)[^\n]*\n(.*?)^ *\1")
_INLINE = re.compile(r"`([^`\n]+)`")
_IMPORT = re.compile(r"\bfrom ([a-z_][\w.]*) import (\([^)]+\)|\w+(?: as \w+)?(?:, *\w+(?: as \w+)?)*)")
_RUN = re.compile(r"\bpython3? -m ([a-z_][\w.]*)")


def code(text: str) -> Iterator[str]:
    """Fenced blocks, and text in backticks elsewhere."""
    yield from (block for _, block in _FENCED.findall(text))
    yield from _INLINE.findall(_FENCED.sub("", text))


def imports(text: str) -> Iterator[tuple[str, str]]:
    """Modules, each with a name imported from it."""
    for part in code(text):
        for module, names in _IMPORT.findall(part):
            for name in names.strip("()").split(","):
                if name.strip():
                    yield module, name.split()[0]


def missing(text: str) -> list[str]:
    """Modules and imported names in a text's code that do not exist."""
    run = [module for part in code(text) for module in _RUN.findall(part)]
    absent = [f"python -m {module}" for module in run if not runs(module)]
    return absent + [f"{module}: {name}" for module, name in imports(text) if not has(module, name)]


def runs(module: str) -> bool:
    """Whether `python -m` can run it; a package needs a `__main__`."""
    found = specified(module)
    return found is not None and (not found or specified(f"{module}.__main__") is not None)


def specified(module: str) -> bool | None:
    """Whether it is a package; None if no such module exists."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        return None
    return None if spec is None else spec.submodule_search_locations is not None


def has(module: str, name: str) -> bool:
    """Whether `from module import name` works."""
    if specified(module) is None:
        return False
    return hasattr(importlib.import_module(module), name) or specified(f"{module}.{name}") is not None


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_what_a_page_runs_and_imports_is_there(page: Path) -> None:
    assert missing(page.read_text()) == []


def test_a_module_and_a_name_that_are_not_there_are_found() -> None:
    text = """
`python -m scripts.gone`, `python -m shared.contracts`, `python -m json.tool` and from nowhere import it
```sh
python -m timeit -s "from ipaddress import ip_address; from shared.contracts.egress_policy import Kind, Gone"
```
  ```python
  from shared.gone import (
      one,
      two,
  )
  from shared import contracts as kept, lost
  ```
"""
    assert missing(text) == [
        "python -m scripts.gone",
        "python -m shared.contracts",
        "shared.contracts.egress_policy: Gone",
        "shared.gone: one",
        "shared.gone: two",
        "shared: lost",
    ]
