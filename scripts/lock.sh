#!/usr/bin/env bash
# Write the pinned, hashed requirements files. `make lock` takes the newest versions pyproject.toml allows.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
python3 -m venv "$tools"
"$tools/bin/python" -m pip --disable-pip-version-check install -q uv

compile() {
    "$tools/bin/uv" pip compile -q --native-tls --generate-hashes --upgrade \
        --no-emit-index-url --no-emit-find-links --no-header --no-annotate "$@"
}
for_any_python() { compile --universal --python-version 3.11 "$@"; }
for_any_python requirements-build.in -o requirements-build.txt
for_any_python pyproject.toml -c requirements-build.txt -o requirements.txt
for_any_python pyproject.toml --extra dev -c requirements-build.txt -c requirements.txt -o requirements-dev.txt
for_any_python requirements-policy.in -o requirements-policy.txt
# LocalStack has an environment of its own; its packages agree on no other Python.
compile --python-version 3.13 scripts/aws/localstack-requirements.in -o scripts/aws/localstack-requirements.txt
