#!/usr/bin/env bash
# Mixed clusters in long form: kz beside Apache Kafka 2.8.2, each kind as controller, leader and
# follower, killed and frozen under load. Needs java, mvn and Debian's zookeeper, and about 2 GB.
#
#   scripts/mixed.sh                        every cell, 20 rounds of kills each; a quarter of an hour
#   scripts/mixed.sh --rounds 3             few of them; five minutes
#   scripts/mixed.sh --only KzControls      tests whose name matches
#   scripts/mixed.sh --kafka-alone          the same acts on Apache Kafka alone: what its log holds then
#
# In the end it prints what each cell came to: kills, records acknowledged and lost, elections.
# Each test prints its seed; KZ_SEED=... replays the random moments. KZ_KEEP=DIR keeps the files
# of a failed cluster.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rounds=20 only=.
while (($#)); do
  case $1 in
  --rounds) rounds=${2:?} && shift 2 ;;
  --only) only=${2:?} && shift 2 ;;
  --kafka-alone) export KZ_MIXED=kafka && only='Control|Diverged|Unclean' && shift ;;
  *) sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2 && exit 2 ;;
  esac
done
[[ $rounds =~ ^[0-9]+$ ]] || { echo "mixed.sh: --rounds takes a number, not '$rounds'" >&2; exit 2; }
export KZ_ROUNDS=$rounds KZ_REQUIRE_ZOOKEEPER=1 KZ_REQUIRE_JAVA=1
out=$(mktemp)
trap 'rm -f "$out"' EXIT
began=$SECONDS status=0
go test ./internal/mixedtest -count=1 -v -timeout 6h -run "$only" | tee "$out" || status=$?

printf '\nmixed.sh --rounds %s: %d min %d s\n' "$rounds" $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60))
# A test's line "figures: ..." stands between its "=== RUN" and its "--- PASS" or "--- FAIL".
awk '/^=== RUN/ { name = $3 } / figures: / { sub(/.* figures: /, ""); figures[name] = $0 }
  /^ *--- / { sub(/^ *--- /, ""); split($0, f, /:? /); printf "%-4s %-60s %10s  %s\n", f[1], f[2], f[3], figures[f[2]] }' "$out"
exit "$status"
