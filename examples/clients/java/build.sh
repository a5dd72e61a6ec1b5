#!/usr/bin/env bash
# Compiles the client, its example and its tests into build/, against Debian's jars.
set -euo pipefail
cd "$(dirname "$0")"
source ./classpath.sh

rm -rf build
mkdir -p build/main build/test
javac --release 17 -Xlint:all -Werror -cp "$jars" -d build/main src/hyperdelay/*.java src/hyperdelay/example/*.java
javac --release 17 -Xlint:all -Werror -cp "build/main:$jars" -d build/test test/hyperdelay/*.java
jar --create --file build/hyper-delay-client.jar -C build/main .
