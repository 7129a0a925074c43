#!/usr/bin/env bash
# The long forms of the tests that kill brokers, and of the one that kills a group's coordinator: twenty
# rounds instead of a few, with a seed, which is printed; KZ_SEED=... replays it. Needs Debian's
# zookeeper. About five minutes.
#
#   scripts/soak.sh          20 rounds
#   scripts/soak.sh 100      100 rounds
set -euo pipefail
[[ ${1:-20} =~ ^[0-9]+$ ]] || { sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export KZ_ROUNDS=${1:-20} KZ_REQUIRE_ZOOKEEPER=1
exec go test ./client/consumer ./internal/clustertest -p 1 -count=1 -v -timeout 4h -run 'TestKills'
