#!/usr/bin/env bash
# From a fresh clone to a chat: installs what is missing, builds, gets the starter model, opens the
# chat. Every step says what it does; a second call skips what is done and starts at once.
#   packaging/run.sh            the starter model (SmolLM2-135M, 98 MB)
#   packaging/run.sh ARGS…      build, then `hearth ARGS…`
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/packages.sh
build=${HEARTH_BUILD_DIR:-build}
models=${HEARTH_STARTER_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/hearth/models}
starter=$models/smollm2-135m-q4_1.gguf
started=$(date +%s)

# shellcheck disable=SC2086
install_missing $HEARTH_BUILD_PACKAGES
if ! command -v nvcc >/dev/null && [ ! -x /usr/local/cuda/bin/nvcc ]; then
    step "notice: no nvcc found, building for the CPU only"
fi
if [ ! -f "$build/build.ninja" ]; then
    step "configuring in $build/"
    cmake -G Ninja -B "$build" -DCMAKE_BUILD_TYPE=Release >/dev/null
fi
# First the build files themselves: a plan made from old ones ends before it names anything. Into a
# variable: a pipe to `grep -q` breaks while ninja still writes, and that counts as a failure.
ninja -C "$build" build.ninja >/dev/null
plan=$(ninja -C "$build" -n hearth)
if [ ! -x "$build/bin/hearth" ] || [[ $plan =~ Building|Linking|nvcc ]]; then
    if [ -x "$build/bin/hearth" ]; then
        step "building hearth: the sources have changed"
    else
        step "building hearth (a few minutes the first time)"
    fi
    ninja -C "$build" hearth
fi
if [ $# -gt 0 ]; then
    exec "$build/bin/hearth" "$@"
fi
if [ ! -f "$starter" ]; then
    step "getting the starter model, 98 MB, into $models"
    mkdir -p "$models"
    chmod 700 "$models"
    packaging/fetch_models.sh "$models" smollm2
fi
[ $(($(date +%s) - started)) -gt 2 ] && step "ready in $(($(date +%s) - started)) s: $build/bin/hearth run $starter"
exec "$build/bin/hearth" run "$starter"
