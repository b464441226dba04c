#!/bin/sh
# Builds wheels of the Python package for Linux into python/dist: one for every Python from 3.10 on (abi3), and for
# every distribution with glibc 2.17 or newer (manylinux2014), because zig links against that version.
#
#   python/build-wheels.sh                              # this machine's architecture
#   python/build-wheels.sh aarch64-unknown-linux-gnu    # another one; needs `rustup target add` of the same name
#
# Elsewhere (macOS, Windows) run `maturin build --out dist` in this folder.
set -eu
cd "$(dirname "$0")"
cache="${SENTINEL_CACHE:-$HOME/.cache/sentinel}/python-wheels"
if [ ! -x "$cache/bin/maturin" ]; then
  python3 -m venv --clear "$cache"
  "$cache/bin/pip" install --quiet --disable-pip-version-check "maturin[zig]==1.16.0"
fi
# maturin looks for `python3 -m ziglang`.
PATH="$cache/bin:$PATH"
[ $# -gt 0 ] || set -- "$(uname -m)-unknown-linux-gnu"
for target in "$@"; do
  maturin build --zig --target "$target" --compatibility manylinux2014 --out dist
done
ls -l dist
