#!/usr/bin/env bash
# The long forms of the tests that kill: twenty rounds instead of six, each with a seed of its own,
# which is printed; KZ_SEED=... replays it. Needs Debian's zookeeper. About five minutes.
#
#   scripts/soak.sh          20 rounds
#   scripts/soak.sh 100      100 rounds
set -euo pipefail
[[ ${1:-20} =~ ^[0-9]+$ ]] || { sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export KZ_ROUNDS=${1:-20} KZ_REQUIRE_ZOOKEEPER=1
exec go test ./internal/clustertest -count=1 -v -timeout 4h -run 'TestKills'
