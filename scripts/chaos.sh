#!/usr/bin/env bash
# Whole clusters under random faults in virtual time, one schedule per seed. A seed that breaks a rule
# is printed with what was done; the same seed replays it. Needs Go only.
#
#   scripts/chaos.sh              seeds 1 to 1000, a few minutes
#   scripts/chaos.sh 1:10000      these seeds
#   scripts/chaos.sh 7            this one, with its diary
set -euo pipefail
[[ ${1:-1:1000} =~ ^[0-9]+(:[0-9]+)?$ ]] || { sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export KZ_SEEDS=${1:-1:1000}
exec go test ./internal/clustertest -count=1 -v -timeout 0 -run '^TestChaos$'
