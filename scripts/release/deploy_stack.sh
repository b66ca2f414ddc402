#!/usr/bin/env bash
# Deploy one stack of the environment that HIFI_ENVIRONMENT names: deploy_stack.sh blue
set -euo pipefail
cd "$(dirname "$0")/../.."
stack=${1:?name a stack: blue, green or edge}
PATH=$PWD/.venv/bin:$PATH npx --no-install cdktf deploy "$stack" --auto-approve
