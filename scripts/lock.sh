#!/usr/bin/env bash
# Write the pinned, hashed requirements files, with the uv of .venv. `make lock` takes the newest versions that
# pyproject.toml allows; with packages named (`scripts/lock.sh coverage`) only these move.
set -euo pipefail
cd "$(dirname "$0")/.."

upgrade=(--upgrade)
if [ $# -gt 0 ]; then upgrade=("${@/#/--upgrade-package=}"); fi
index=${UV_DEFAULT_INDEX:-${PIP_INDEX_URL:-$(.venv/bin/python -m pip config get global.index-url 2>/dev/null || true)}}
if [ -n "$index" ]; then export UV_DEFAULT_INDEX=$index; fi

compile() {
    .venv/bin/uv pip compile -q --native-tls --generate-hashes "${upgrade[@]}" \
        --no-emit-index-url --no-emit-find-links --no-header --no-annotate "$@"
}
for_any_python() { compile --universal --python-version 3.11 "$@"; }
for_any_python requirements-build.in -o requirements-build.txt
for_any_python pyproject.toml -c requirements-build.txt -o requirements.txt
for_any_python pyproject.toml --extra dev -c requirements-build.txt -c requirements.txt -o requirements-dev.txt
for_any_python requirements-release.in -c requirements.txt -o requirements-release.txt
for_any_python requirements-policy.in -o requirements-policy.txt
for_any_python requirements-cdktn.in -o requirements-cdktn.txt
# LocalStack has an environment of its own; its packages agree on no other Python.
compile --python-version 3.13 scripts/aws/localstack-requirements.in -o scripts/aws/localstack-requirements.txt
