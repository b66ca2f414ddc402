"""Writes YAML that readers of 1.1 and of 1.2 understand alike."""

import yaml

from shared.documents.yaml_loader import CoreLoader


class CoreDumper(yaml.SafeDumper):
    """Quotes text that YAML 1.1 or 1.2 would read as another type."""

    yaml_implicit_resolvers = {  # noqa: RUF012 PyYAML's interface
        first: [
            *yaml.SafeDumper.yaml_implicit_resolvers.get(first, []),
            *CoreLoader.yaml_implicit_resolvers.get(first, []),
        ]
        for first in {*yaml.SafeDumper.yaml_implicit_resolvers, *CoreLoader.yaml_implicit_resolvers}
    }
