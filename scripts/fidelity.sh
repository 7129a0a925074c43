#!/usr/bin/env bash
# Measures anew how far kz is Kafka, and writes internal/fidelity/measured and docs/fidelity.md.
# Look at the difference in git before you commit it: each line is something that kz does now
# and did not do before, or the other way round.
#
#   scripts/fidelity.sh                            all of it, five minutes or so
#   scripts/fidelity.sh ./internal/goldentest/...  what some packages measure
#   scripts/fidelity.sh --page                     only the page, from what is measured
#
# The ordinary tests check the same numbers in their ordinary run; this is for when they change.
# It needs ZooKeeper, as the tests do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export KZ_FIDELITY=write KZ_REQUIRE_ZOOKEEPER=1
if [[ ${1:-} != --page ]]; then
  packages=("$@")
  if ((!${#packages[@]})); then
    packages=(./internal/goldentest/... ./internal/cli ./internal/record ./broker/commitlog ./controller)
    rm -f internal/fidelity/measured/*/*.jsonl # parts that no test writes any more must not stay
  fi
  go test -count=1 -p 1 -timeout 20m "${packages[@]}"
fi
go test -count=1 -run TestDocumentIsWhatWasMeasured ./internal/fidelity
unset KZ_FIDELITY
go test -count=1 ./internal/fidelity
git --no-pager diff --stat -- internal/fidelity docs/fidelity.md
