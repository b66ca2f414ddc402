#!/usr/bin/env bash
# Store what a version consists of on a side, for the deployer: publish_version.sh VERSION green
# The overlay's values are written already (infra.workloads.values). VERSIONS names the bucket.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=${1:?name the version}
side=${2:?name a side: blue or green}
kubectl kustomize "infra/workloads/overlays/$side" | .venv/bin/python -m scripts.release.publish_version "$version" "$side" "${VERSIONS:?}"
