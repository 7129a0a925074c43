#!/bin/sh
PATH=$PATH:$(dirname "$0")/.. exec "${KZ:-kz}" verifiable-consumer "$@"
