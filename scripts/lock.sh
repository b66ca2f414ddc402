#!/usr/bin/env bash
# Write the pinned, hashed requirements files. `make lock` takes the newest versions pyproject.toml allows.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
python3 -m venv "$tools"
"$tools/bin/python" -m pip --disable-pip-version-check install -q uv

compile() {
    "$tools/bin/uv" pip compile -q --native-tls --universal --python-version 3.11 --generate-hashes --upgrade \
        --no-emit-index-url --no-emit-find-links --no-header --no-annotate "$@"
}
compile requirements-build.in -o requirements-build.txt
compile pyproject.toml -c requirements-build.txt -o requirements.txt
compile pyproject.toml --extra dev -c requirements-build.txt -c requirements.txt -o requirements-dev.txt
compile requirements-policy.in -o requirements-policy.txt
