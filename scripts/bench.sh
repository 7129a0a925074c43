#!/usr/bin/env bash
# One load from one outside client on three kz brokers and on three Apache Kafka 2.8.2 brokers, in the
# same run. Prints a table with the ratios, and the machine's own limits beside them. Needs java and mvn.
#
#   scripts/bench.sh                     everything (a quarter of an hour on two cores)
#   scripts/bench.sh -mb 128 -many 500   shorter
#   scripts/bench.sh -systems kz         kz alone
#   scripts/bench.sh -only 'acks=all'    the loads whose label matches
#   scripts/bench.sh -h                  all flags
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/kz" .
go build -o "$dir/bench" ./internal/bench
[[ " $* " == *" -h "* ]] || scripts/reference-kafka.sh fetch
"$dir/bench" -kz "$dir/kz" -kafka scripts/reference-kafka.sh "$@"
