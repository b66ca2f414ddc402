#!/usr/bin/env bash
# Whether the deployer has parked a side: parked.sh green. The disruption budgets of one that runs would hold up each update of a node.
set -euo pipefail
cd "$(dirname "$0")/../.."
side=${1:?name a side: blue or green}
parked=$(.venv/bin/python -m scripts.cli sides --json | jq -r --arg side "$side" '.sides[] | select(.side == $side) | .parked')
if [ "$parked" != true ]; then
    echo "$side is not parked: a release, a switch or the end of a burst parks the side that it leaves" >&2
    exit 1
fi
