#!/usr/bin/env bash
# Runs the tests. Build them before.
set -euo pipefail
cd "$(dirname "$0")"
source ./classpath.sh
exec java -ea -cp "build/test:build/main:$jars" hyperdelay.Tests "$@"
