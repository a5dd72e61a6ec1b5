#!/usr/bin/env bash
# Runs the tests, which have tokens of their own. Build them before.
set -euo pipefail
cd "$(dirname "$0")"
source ./classpath.sh
exec env -u HYPER_DELAY_TOKEN_FILE -u HYPER_DELAY_TOKEN java -ea -cp "build/test:build/main:$jars" hyperdelay.Tests "$@"
