#!/bin/sh
exec "${KZ:-kz}" consumer-perf-test "$@"
