#!/usr/bin/env bash
# Whole clusters under random faults in virtual time, one schedule per seed. A seed that breaks a rule
# is printed with what was done; the same seed replays it. Ends with a summary. Needs Go only.
#
#   scripts/chaos.sh              seeds 1 to 1000, a few minutes
#   scripts/chaos.sh 1:10000      these seeds
#   scripts/chaos.sh 7            this one, with its diary
set -euo pipefail
[[ ${1:-1:1000} =~ ^[0-9]+(:[0-9]+)?$ ]] || { sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export KZ_SEEDS=${1:-1:1000}
echo "seeds $KZ_SEEDS" >&2
# What go test says of each seed that went well is left out; the rest stays as it is.
go test ./internal/clustertest -count=1 -v -timeout 0 -run '^TestChaos$' 2>&1 | awk '
  /^=== RUN +TestChaos\/seed=/ { sub(/.*seed=/, ""); last = $0; if (++n % 500 == 0) print "... " n " schedules" >"/dev/stderr"; next }
  /^=== / || /^ +--- PASS: TestChaos\/seed=/ { next }
  /^ +--- FAIL: TestChaos\/seed=/ { sub(/.*seed=/, ""); sub(/ .*/, ""); failed = failed " " $0; bad++; next }
  / schedules a minute$/ { sub(/^ *[^ ]+: /, ""); summary = $0; next }
  { print; fflush() }
  END {
    if (summary == "") { print (last == "" ? "No schedule ran." : "It ended in the middle of seed " last "."); exit 1 }
    print summary
    if (bad) print bad " broke a rule. Replay one: scripts/chaos.sh SEED, with SEED of" failed
    else print "No rule was broken."
  }'
