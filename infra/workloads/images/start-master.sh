#!/bin/sh
# Starts Spark's master: start-master.sh STATE ARGUMENT ... Its records of applications and workers are in a folder of this
# version of hifi, and those of other versions are deleted. A master stays in STANDBY for ever if it cannot read a record,
# as of another release of Spark, and keeps a place for applications whose drivers are gone.
set -eu
records=$1/versions
shift
own=$records/${HIFI_VERSION:-unnamed}
mkdir -p "$own"
for folder in "$records"/*; do
    [ "$folder" = "$own" ] || rm -rf "$folder"
done
# Spark writes a record in place: a node that died may have left one without content.
find "$own" -type f -empty -delete
export SPARK_MASTER_OPTS="-Dspark.deploy.recoveryDirectory=$own"
exec spark-class org.apache.spark.deploy.master.Master "$@"
