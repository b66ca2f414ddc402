#!/usr/bin/env bash
# Deploy the stack of a side that the deployer has parked: side_stack.sh green. Meanwhile it is in maintenance, so that no release
# touches it, and nothing leads to it. After a failure it stays so: nothing reaches a side that is half deployed, a release waits, and
# the next run goes on. HIFI_ENVIRONMENT and HIFI_DOCUMENTS_TABLE come from the environment.
set -euo pipefail
cd "$(dirname "$0")/../.."
side=${1:?name a side: blue or green}
# Always the same, so that a run ends what one before it that failed has begun, and no person's.
reason="deployment of the side's stack"
maintenance() { HIFI_SIDE=$side .venv/bin/python -m scripts.cli maintenance "$@" --reason "$reason"; }
traffic() { .venv/bin/python -m scripts.release.traffic "$@"; }

scripts/release/parked.sh "$side"
maintenance begin --for 3h
traffic close "$side"
scripts/release/deploy_stack.sh "$side"
traffic open "$side"
maintenance end
