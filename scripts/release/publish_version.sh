#!/usr/bin/env bash
# Store what a version consists of on either side, for the deployer: publish_version.sh VERSION. The name means these images from
# then on. PREFIX, VERSIONS (the bucket), SERVICE_IMAGE and SPARK_IMAGE come from the environment.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=${1:?name the version}
# The brokers have the ids of their zones, pods the names, which mean other zones in each account.
zone_ids=$(aws ec2 describe-availability-zones --output text \
    --query "AvailabilityZones[?ZoneType=='availability-zone'].[ZoneName,ZoneId]" | tr '\t' '=' | paste -sd,)
store() {
    local side=$1 kafka rendered
    kafka=$(scripts/release/kafka_of.sh "$side") || return
    .venv/bin/python -m infra.workloads.values "$side" --bootstrap "${kafka#* }" --zone-ids "$zone_ids" \
        --service-image "${SERVICE_IMAGE:?}" --spark-image "${SPARK_IMAGE:?}" || return
    # As a whole before anything is stored: what is stored of a failed rendering would stay.
    rendered=$(kubectl kustomize "infra/workloads/overlays/$side") || return
    .venv/bin/python -m scripts.release.publish_version "$version" "$side" "${VERSIONS:?}" <<< "$rendered"
}

# Either side is tried whatever becomes of the other: a side that has no version cannot go back to it.
status=0
for side in blue green; do
    store "$side" || status=1
done
exit $status
