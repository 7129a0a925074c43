#!/bin/sh
exec "${KZ:-kz}" dump-log "$@"
