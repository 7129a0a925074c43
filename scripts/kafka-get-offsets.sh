#!/bin/sh
PATH=$PATH:$(dirname "$0")/.. exec "${KZ:-kz}" get-offsets "$@"
