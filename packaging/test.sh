#!/usr/bin/env bash
# The whole check on a fresh Debian 12: installs, fetches the test models, builds with warnings as
# errors, fuzzes briefly, runs every test. Ends with ctest's closing line.
#   packaging/test.sh           what CI runs
#   packaging/test.sh --full    adds ASan/UBSan over the tests, the kernels of the card under three schedules with
#                               ASan/UBSan and the race detector, bugs planted into them, their registers on every
#                               architecture, 10-minute fuzzing, 50 kills, the 1.5B model
# HEARTH_TEST_MODELS: where models are kept (default ~/.cache/hearth-models).
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/packages.sh
full=0
case ${1:-} in
    "") ;;
    --full) full=1 ;;
    *) echo "usage: packaging/test.sh [--full]" >&2; exit 2 ;;
esac
build=${HEARTH_BUILD_DIR:-build/test}
export HEARTH_TEST_MODELS=${HEARTH_TEST_MODELS:-$HOME/.cache/hearth-models}
export LC_ALL=C.UTF-8
fuzz_seconds=30
cuda_architectures="80;90"
if [ $full = 1 ]; then
    export HEARTH_TEST_FULL=1
    fuzz_seconds=600
    cuda_architectures="80;86;89;90;120;120-ptx"
fi

# shellcheck disable=SC2086
install_missing $HEARTH_BUILD_PACKAGES $HEARTH_TEST_PACKAGES

step "test models in $HEARTH_TEST_MODELS"
names="smollm2 gemma3 qwen2"
[ $full = 1 ] && names="$names qwen15"
# shellcheck disable=SC2086
packaging/fetch_models.sh "$HEARTH_TEST_MODELS" $names

step "building in $build"
cmake -G Ninja -B "$build" -DCMAKE_BUILD_TYPE=Release -DHEARTH_WERROR=ON \
    -DHEARTH_CUDA_ARCHITECTURES="$cuda_architectures" >/dev/null
ninja -C "$build"

step "fuzzing, $fuzz_seconds s a target"
fuzz_build=${build}-fuzz
cmake -G Ninja -C packaging/fuzz.cmake -B "$fuzz_build" >/dev/null
fuzzers=$(cd tests/fuzz && ls ./*_fuzz.cpp | sed 's|^\./||; s|\.cpp$||')
# shellcheck disable=SC2086
ninja -C "$fuzz_build" $fuzzers
for fuzzer in $fuzzers; do
    work=$(mktemp -d)
    corpus=tests/fuzz/corpus/${fuzzer%_fuzz}
    dictionary=tests/fuzz/${fuzzer%_fuzz}.dict
    words=()
    [ -f "$dictionary" ] && words=(-dict="$dictionary")
    echo "$fuzzer: $fuzz_seconds s"
    if ! "$fuzz_build/bin/$fuzzer" -max_total_time="$fuzz_seconds" -timeout=10 -rss_limit_mb=2048 \
            -verbosity=0 -artifact_prefix="$work/" "${words[@]}" "$work" "$corpus" 2>"$work.log"; then
        tail -40 "$work.log" >&2
        echo "error: $fuzzer found an input that fails; it is in $work" >&2
        exit 1
    fi
    rm -rf "$work" "$work.log"
done

if [ $full = 1 ]; then
    step "tests under ASan and UBSan"
    cmake -G Ninja -C packaging/asan.cmake -B "$build-asan" >/dev/null
    ninja -C "$build-asan"
    ctest --test-dir "$build-asan" --output-on-failure -E '^(format|app-)'

    step "kernels of the card: sanitizers and schedules"
    cmake -G Ninja -C packaging/tsan.cmake -B "$build-tsan" >/dev/null
    ninja -C "$build-tsan" simt_tests
    for order in reverse random; do
        HEARTH_SIMT_ORDER=$order "$build-asan/bin/simt_tests"
    done
    for order in forward reverse random; do
        HEARTH_SIMT_ORDER=$order TSAN_OPTIONS=atexit_sleep_ms=0:halt_on_error=1 "$build-tsan/bin/simt_tests"
    done
    if command -v nvcc >/dev/null; then
        step "kernels of the card: registers"
        packaging/kernel_report.py
    fi
fi

step "tests"
exec ctest --test-dir "$build" --output-on-failure --no-tests=error
