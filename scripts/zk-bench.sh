#!/usr/bin/env bash
# The embedded ZooKeeper against Debian's in one run: writes a second, time to the first answer,
# memory. Needs the Debian package "zookeeper"; takes half a minute.
#
#   scripts/zk-bench.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export KZ_SUITES=1 KZ_REQUIRE_ZOOKEEPER=1
exec go test ./internal/zkserver -count=1 -v -run '^TestAtLeastAsFastAsTheRealOne$'
