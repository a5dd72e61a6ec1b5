#!/usr/bin/env bash
# Copies the sources of the compression libraries from Debian's packages into vendor/, so that the build
# downloads nothing. Elsewhere `go mod tidy` fetches them.
set -euo pipefail
cd "$(dirname "$0")"
from=/usr/share/gocode/src

if [ ! -d "$from/github.com/pierrec/lz4" ] || [ ! -d "$from/github.com/klauspost/compress" ]; then
    echo "$from lacks the compression libraries: apt-get install golang-github-pierrec-lz4-dev" \
        "golang-github-klauspost-compress-dev, or run go mod tidy" >&2
    exit 1
fi
rm -rf vendor

# copy PACKAGE [TO]: copies the sources of a package, without those of its folders.
copy() {
    local to="vendor/${2:-$1}"
    mkdir -p "$to"
    find "$from/$1/" -maxdepth 1 \( -name '*.go' -o -name '*.s' \) ! -name '*_test.go' -exec cp {} "$to/" \;
}
# module PATH PACKAGE...: copies these packages of a module, in the version of go.mod.
module() {
    local path="$1" name
    shift
    printf '# %s %s\n## explicit; go 1.17\n' "$path" "$(awk -v path="$path" '$1 == path { print $2 }' go.mod)" >>vendor/modules.txt
    for name in "$@"; do
        echo "$path${name:+/$name}" >>vendor/modules.txt
        copy "$path${name:+/$name}"
    done
}

mkdir vendor
compress=github.com/klauspost/compress
module "$compress" "" fse huff0 internal/cpuinfo internal/snapref zstd
# Debian replaces the copy of xxhash in this library by a package of its own. This puts it back.
copy github.com/cespare/xxhash "$compress/zstd/internal/xxhash"
echo "$compress/zstd/internal/xxhash" >>vendor/modules.txt
sed -i "s|\"github.com/cespare/xxhash\"|\"$compress/zstd/internal/xxhash\"|" "vendor/$compress"/zstd/*.go
module github.com/pierrec/lz4 "" internal/xxh32
