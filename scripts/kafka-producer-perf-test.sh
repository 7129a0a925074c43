#!/bin/sh
exec "${KZ:-kz}" producer-perf-test "$@"
