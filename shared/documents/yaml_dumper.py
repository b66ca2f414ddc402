"""Writes YAML that readers of 1.1 and of 1.2 understand alike."""

import re
from typing import Final

import yaml

from shared.documents.yaml_loader import CoreLoader

_BREAKS: Final = re.compile("[\r\x85\u2028\u2029]")


class CoreDumper(yaml.SafeDumper):
    """Quotes text that YAML 1.1 or 1.2 would read as another type.

    Text of several lines is a block, and nothing refers to something above.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 PyYAML's interface
        first: [
            *yaml.SafeDumper.yaml_implicit_resolvers.get(first, []),
            *CoreLoader.yaml_implicit_resolvers.get(first, []),
        ]
        for first in {*yaml.SafeDumper.yaml_implicit_resolvers, *CoreLoader.yaml_implicit_resolvers}
    }

    def ignore_aliases(self, data: object) -> bool:
        """Nothing is written as a reference."""
        del data
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    if _BREAKS.search(text):
        style = '"'  # PyYAML would write them as they are, and read them as spaces
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


CoreDumper.add_representer(str, _text)
