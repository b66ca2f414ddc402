#!/usr/bin/env bash
# Ask a side's own load balancer, not the name that the traffic follows: verify.sh green. PREFIX from the environment.
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
# Without a key nobody is let in: the request came through to collect and its sources are loaded.
answers /v1/events 401 -X POST -H 'content-type: application/json' -d '{}'
