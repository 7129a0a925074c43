#!/usr/bin/env bash
# Everything that must hold: formatting, vet (also for macOS and Windows), staticcheck where it
# is installed, the tests on one CPU, then the tests with the race detector.
#
#   scripts/test.sh               the whole of it
#   scripts/test.sh ./broker/...  the tests of some packages only
#   scripts/test.sh --ci          the same as the first; a missing staticcheck is an error
#
# Tests that need a program which is not installed are skipped and say so. To forbid
# that: KZ_REQUIRE_ZOOKEEPER=1 KZ_REQUIRE_KCAT=1 KZ_REQUIRE_JAVA=1
# KZ_REQUIRE_PYTHON=1 (kafka-python; KZ_PYTHON says which python).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ci=
if [[ ${1:-} == --ci ]]; then
  ci=1
  shift
fi
packages=("$@")
((${#packages[@]})) || packages=(./...)

step() { printf '\n== %s\n' "$*" >&2; }

step gofmt
unformatted=$(git ls-files '*.go' | xargs gofmt -l)
if [[ -n $unformatted ]]; then
  printf 'gofmt -w these:\n%s\n' "$unformatted" >&2
  exit 1
fi

step go vet
go vet "${packages[@]}"
for os in darwin windows; do # what one of them cannot do is refused by name, and compiles
  step "go vet for $os"
  GOOS=$os go vet "${packages[@]}"
done

PATH=$PATH:$(go env GOPATH)/bin
if command -v staticcheck >/dev/null; then
  step staticcheck
  staticcheck "${packages[@]}"
elif [[ -n $ci ]]; then
  echo "staticcheck is missing (go install honnef.co/go/tools/cmd/staticcheck@v0.8.2)" >&2
  exit 1
fi

# Packages run one after another (-p 1): whole clusters with real time limits do not
# share two cores well.
step tests on one CPU
go test -p 1 -cpu 1 -timeout 20m "${packages[@]}"

# Clusters beside Apache Kafka and replays of what it did run the same rooms once more, in
# processes of their own: the race detector sees in them nothing that clustertest does not show.
step tests with the race detector
raced=$(go list "${packages[@]}" | grep -v -E '/internal/(mixedtest|goldentest)(/|$)' || true)
if [[ -n $raced ]]; then
  go list -race -export -test -deps $raced >/dev/null # compiles with both cores; -p 1 would with one
  go test -p 1 -race -short -timeout 20m $raced
fi
