#!/usr/bin/env bash
# The weights that hold now, from their SSM parameter.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec .venv/bin/python -m scripts.release.traffic show
