"""The API of one Kubernetes cluster, as far as the deployer needs it."""

import json
import ssl
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import Any, Final

import httpx

from pipelines.control.deploy.backend import BackendError

MANAGER: Final = "hifi-deployer"
"""The field manager: what it has applied is its own, and what it applies no more goes."""

_SECONDS: Final = 8.0
_MERGE: Final = "application/merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"

Manifest = dict[str, Any]


class ConflictError(BackendError):
    """An object is another one than when it was read."""


class KubeApi:
    """Belongs to one thread. Methods raise BackendError if the API does not answer or refuses."""

    def __init__(self, endpoint: str, authority: str, token: Callable[[], str]) -> None:
        """Reach a cluster.

        Args:
            endpoint: URL of its API.
            authority: certificate of the authority that signed the API's, PEM.
            token: what a request is authorised with.
        """
        context = ssl.create_default_context(cadata=authority)
        self._client = httpx.Client(base_url=endpoint, verify=context, timeout=_SECONDS, trust_env=False)
        self._token = token
        self._kinds = cache(self._discovered)

    def get(self, path: str) -> Manifest | None:
        """An object; None if it is not there."""
        reply = self._asked("GET", path)
        return None if reply is None else dict(reply.json())

    def content(self, path: str) -> bytes:
        """What a path answers, such as that of a pod behind the API's proxy."""
        reply = self._asked("GET", path)
        if reply is None:
            raise BackendError(f"GET {path}: there is no such thing")
        return reply.content

    def put(self, path: str, text: str) -> None:
        """Give a text to a path, such as that of a pod behind the API's proxy."""
        if self._asked("PUT", path, body=text, kind="text/plain") is None:
            raise BackendError(f"PUT {path}: there is no such thing")

    def list(self, path: str, selector: str) -> Sequence[Manifest]:
        """The objects with some labels, as they are now."""
        reply = self._asked("GET", path, params={"labelSelector": selector})
        return [] if reply is None else list(reply.json()["items"])

    def apply(self, manifest: Manifest) -> None:
        """Make an object what its manifest says, by server-side apply; fields that others own are kept."""
        params = {"fieldManager": MANAGER, "force": "true"}
        path = self.path(manifest)
        if self._asked("PATCH", path, params=params, body=manifest, kind=_APPLY) is None:
            raise BackendError(f"{path} cannot be applied: its namespace or its kind is not there")

    def merge(self, path: str, change: Mapping[str, Any]) -> None:
        """Change some fields; nothing if the object is not there."""
        self._asked("PATCH", path, params={"fieldManager": MANAGER}, body=change, kind=_MERGE)

    def create(self, path: str, manifest: Manifest) -> None:
        """Make an object; raises ConflictError if it is there already."""
        if self._asked("POST", path, body=manifest) is None:
            raise BackendError(f"{path} is not there")

    def replace(self, path: str, manifest: Manifest) -> None:
        """Write an object over that of the same `resourceVersion`; ConflictError for another one."""
        if self._asked("PUT", path, body=manifest) is None:
            raise ConflictError(f"{path} is gone")

    def delete(self, path: str) -> None:
        """Delete an object and what belongs to it; nothing if it is not there."""
        self._asked("DELETE", path, body={"propagationPolicy": "Background"})

    def path(self, manifest: Manifest) -> str:
        """Of an object, by its manifest."""
        version, name = manifest["apiVersion"], manifest["metadata"]["name"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        found = self._kinds(root).get(manifest["kind"])
        if found is None:
            self._kinds.cache_clear()  # it may be installed later
            raise BackendError(f"the cluster knows no {manifest['kind']} of {version}")
        plural, namespaced = found
        space = f"/namespaces/{manifest['metadata']['namespace']}" if namespaced else ""
        return f"{root}{space}/{plural}/{name}"

    def _discovered(self, root: str) -> Mapping[str, tuple[str, bool]]:
        reply = self._asked("GET", root)
        resources = [] if reply is None else reply.json()["resources"]
        return {
            each["kind"]: (each["name"], each["namespaced"]) for each in resources if "/" not in each["name"]
        }

    def _asked(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | str | None = None,
        kind: str = "application/json",
    ) -> httpx.Response | None:
        """The reply; None for 404."""
        headers = {"Authorization": f"Bearer {self._token()}", "Content-Type": kind}
        content = body if isinstance(body, str | None) else json.dumps(body)
        try:
            reply = self._client.request(method, path, params=params, content=content, headers=headers)
        except httpx.HTTPError as error:
            raise BackendError(f"{method} {path}: the Kubernetes API does not answer: {error!r}") from error
        if reply.status_code == HTTPStatus.NOT_FOUND:
            return None
        if reply.status_code == HTTPStatus.CONFLICT:
            raise ConflictError(f"{method} {path}: {_message(reply)}")
        if reply.is_error:
            raise BackendError(f"{method} {path}: {reply.status_code} {_message(reply)}")
        return reply


def _message(reply: httpx.Response) -> str:
    try:
        return str(reply.json()["message"])
    except (ValueError, KeyError, TypeError):
        return reply.text[:200]
