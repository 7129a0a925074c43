#!/bin/sh
PATH=$PATH:$(dirname "$0")/.. exec "${KZ:-kz}" producer-perf-test "$@"
