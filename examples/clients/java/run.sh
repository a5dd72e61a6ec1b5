#!/usr/bin/env bash
# Runs the example: run.sh produce|consume [options]. Build it before.
set -euo pipefail
dir="$(cd "$(dirname "$0")" && pwd)"
source "$dir/classpath.sh"
if [ ! -e "$dir/build/hyper-delay-client.jar" ]; then
    echo "nothing is built: $dir/build.sh" >&2
    exit 1
fi
exec java -cp "$dir/build/hyper-delay-client.jar:$jars" hyperdelay.example.Main "$@"
