#!/bin/sh
exec "${KZ:-kz}" topics "$@"
