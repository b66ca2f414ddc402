#!/usr/bin/env bash
# Whether a side may have traffic: verify.sh green. It is asked at its own load balancer, not the name that the traffic
# follows, and its canary's events must arrive. PREFIX from the environment; VERIFY_SECONDS is how long that may take.
set -euo pipefail
cd "$(dirname "$0")/../.."
side=${1:?name a side: blue or green}
balancer=$(aws elbv2 describe-load-balancers --names "${PREFIX:?}-$side-collect" \
    --query 'LoadBalancers[0].DNSName' --output text)
name=$(.venv/bin/python -m infra.workloads.outputs | sed -n 's/^events=//p')

answers() { # path, wanted status, further options of curl
    local path=$1 wanted=$2 status; shift 2
    status=$(curl -sS -o /dev/null -w '%{http_code}' --max-time 10 --retry 30 --retry-delay 5 --retry-all-errors \
        --connect-to "$name:443:$balancer:443" "$@" "https://$name$path")
    [ "$status" = "$wanted" ] || { echo "$side: $path answered $status instead of $wanted" >&2; return 1; }
}

answers /readyz 200
# Without a key nobody is let in: the request came through to collect.
answers /v1/events 401 -X POST -H 'content-type: application/json' -d '{}'

# The canary sends events through every kind of pipe of this side, and compares what arrives.
cluster=$PREFIX-$side
# From inside its pod: no network policy lets the API server's proxy in.
canary() {
    kubectl --context "$cluster" --namespace hifi exec deployment/canary -- python -c \
        'import urllib.request as r; print(r.urlopen("http://127.0.0.1:8080/metrics").read().decode())'
}
deadline=$((SECONDS + ${VERIFY_SECONDS:-600}))
until unproven=$(canary | .venv/bin/python -m scripts.release.verified); do
    if [ $SECONDS -ge $deadline ]; then echo "$side is not verified: $unproven" >&2; exit 1; fi
    echo "$side: $unproven" >&2
    sleep 10
done
echo "$side: events arrive through every pipe of the canary" >&2
