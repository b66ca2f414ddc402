#!/usr/bin/env bash
# Bring a dark side's compute to zero, once it has sent everything it took: park.sh blue. PREFIX from the
# environment; DRAIN_SECONDS, too, for less patience than a day. A release, or deploy_workloads.sh, wakes it up again.
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
# From inside its pod: no network policy lets the API server's proxy in.
metrics() {
    kube exec deployment/observe -- python -c \
        'import urllib.request as r; print(r.urlopen("http://127.0.0.1:8080/metrics").read().decode())'
}
deadline=$((SECONDS + ${DRAIN_SECONDS:-90000}))  # an event may wait a day for its last try
until left=$(metrics | .venv/bin/python -m scripts.release.drained); do
    if [ $SECONDS -ge $deadline ]; then echo "$side is not parked, left: $left" >&2; exit 1; fi
    echo "$side has left: $left" >&2
    sleep 15
done
kube scale deployment --replicas=0 \
    ingest-driver route-driver transmit-driver audit-driver retry canary console api provision observe
kube annotate --overwrite scaledobject/spark-worker autoscaling.keda.sh/paused-replicas=0
kube scale statefulset --replicas=0 spark-master
