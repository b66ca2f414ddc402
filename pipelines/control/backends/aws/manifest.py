"""How an object of Kubernetes is written; apart from its API, which publishing a version does not need."""

from typing import Any

Manifest = dict[str, Any]
