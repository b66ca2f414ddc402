#!/usr/bin/env bash
# The weights that hold now, from edge's state; before its first deployment those of the file.
set -euo pipefail
cd "$(dirname "$0")/../.."
.venv/bin/python -m infra.main >&2
terraform -chdir=cdktf.out/stacks/edge init -input=false -no-color >&2
# All outputs: asked for one that is not there yet, Terraform fails as it does when it cannot read the state.
outputs=$(terraform -chdir=cdktf.out/stacks/edge output -json)
jq -ce '.weights.value // empty' <<< "$outputs" || jq -c . infra/weights.json
