#!/bin/sh
exec "${KZ:-kz}" broker --config "$@"
