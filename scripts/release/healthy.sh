#!/usr/bin/env bash
# Whether each side that a weights file gives traffic has healthy targets: healthy.sh weights.json
set -euo pipefail
file=${1:?name the file of the weights}
least=2
for side in blue green; do
    [ "$(jq -r --arg side "$side" '.[$side]' "$file")" -gt 0 ] || continue
    group=$(aws elbv2 describe-target-groups --names "${PREFIX:?}-$side-collect" \
        --query 'TargetGroups[0].TargetGroupArn' --output text)
    healthy=$(aws elbv2 describe-target-health --target-group-arn "$group" \
        --query "length(TargetHealthDescriptions[?TargetHealth.State=='healthy'])" --output text)
    if [ "$healthy" -lt "$least" ]; then
        echo "$side has $healthy healthy targets, fewer than $least: it gets no traffic" >&2
        exit 1
    fi
done
