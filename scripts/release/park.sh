#!/usr/bin/env bash
# Bring a dark side's compute to zero, once it has sent everything it took: park.sh blue. PREFIX from the
# environment. A release, or deploy_workloads.sh, wakes it up again.
set -euo pipefail
cd "$(dirname "$0")/../.."
side=${1:?name a side: blue or green}
cluster=${PREFIX:?}-$side
weights=$(scripts/release/live_weights.sh)
if [ "$(.venv/bin/python -m scripts.release.weights dark --now "$weights")" != "$side" ]; then
    echo "$side is light: switch first" >&2
    exit 1
fi
kube() { kubectl --context "$cluster" --namespace hifi "$@"; }

# In the order of the chain: nothing new comes in, then who takes it further.
kube annotate --overwrite scaledobject/collect autoscaling.keda.sh/paused-replicas=0
kube wait --for=delete pod --selector app.kubernetes.io/name=collect --timeout=10m
echo "wait until the lag of hifi.ingest, hifi.route, hifi.transmit and of the retry topics is 0, then press enter" >&2
read -r
kube scale deployment --replicas=0 ingest-driver route-driver transmit-driver retry observe
kube annotate --overwrite scaledobject/spark-worker autoscaling.keda.sh/paused-replicas=0
kube scale statefulset --replicas=0 spark-master
