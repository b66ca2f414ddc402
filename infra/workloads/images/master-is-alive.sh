#!/bin/bash
# Readiness of Spark's master: master-is-alive.sh PORT, that of its web UI. In STANDBY it listens too, and answers neither
# workers nor drivers.
set -eu
exec 3<> "/dev/tcp/127.0.0.1/$1"
printf 'GET /json/ HTTP/1.0\r\n\r\n' >&3
grep -q '"status" *: *"ALIVE"' <&3
