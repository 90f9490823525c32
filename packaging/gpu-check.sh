#!/usr/bin/env bash
# Checks and measures the CUDA backend on a machine with a card, in under eight minutes, without a
# download: every kernel test on the card, the same bits however a prompt is cut, random models of
# 135M and 8B shapes, real ones if they are there. Ends with a table and gpu-check.json.
#   packaging/gpu-check.sh [--models DIR] [--binary FILE] [--out DIR] [--emulated]
# --binary: a finished hearth; then nothing is built and the kernel tests are left out, said so.
# --models: a folder with the files of packaging/fetch_models.sh, for the recorded likelihoods.
# --emulated: tries this script where there is no card, with the emulated one and tiny models; --binary is
#   then build/…/bin/hearth_emulated, which has simt_tests beside it.
set -uo pipefail
cd "$(dirname "$0")/.."
models="" binary="" out=build/gpu-check emulated=0
while [ $# -gt 0 ]; do
    case $1 in
        --models) models=$2; shift 2 ;;
        --binary) binary=$2; shift 2 ;;
        --out) out=$2; shift 2 ;;
        --emulated) emulated=1; shift ;;
        *) sed -n '2,10p' "$0" >&2; exit 2 ;;
    esac
done
mkdir -p "$out"
export LC_ALL=C.UTF-8
log="$out/log.txt"
: >"$log"
failures=0
results=()
started=$SECONDS

# step NAME SECONDS COMMAND...: runs it with a limit, keeps its output, says how it ended.
step() {
    local name=$1 limit=$2 began=$SECONDS state=ok
    [ $emulated = 1 ] && limit=$((limit * 5))
    shift 2
    printf '==> %s\n' "$name" | tee -a "$log" >&2
    timeout "$limit" "$@" >"$out/$name.txt" 2>&1
    local rc=$?
    cat "$out/$name.txt" >>"$log"
    if [ $rc = 124 ]; then state="over $limit s"; elif [ $rc != 0 ]; then state="exit code $rc"; fi
    if [ "$state" != ok ]; then
        failures=$((failures + 1))
        tail -15 "$out/$name.txt" >&2
    fi
    results+=("{\"step\": \"$name\", \"state\": \"$state\", \"seconds\": $((SECONDS - began))}")
    printf '    %s, %s s\n' "$state" "$((SECONDS - began))" >&2
    return $rc
}

# kernel_tests FILE: every kind of kernel test by its own, so that one that hangs hides no other.
kernel_tests() {
    local tag
    for tag in ptx rows embed matmul rope attention graph roof model; do
        step "test-$tag" 60 "$1" "[$tag]"
    done
}

small_shape=135m large_shape=8b prompts=512,2048 contexts=0,4096 n_ids=700
if [ $emulated = 1 ]; then
    [ -n "$binary" ] || { echo "gpu-check.sh: --emulated needs --binary .../hearth_emulated" >&2; exit 2; }
    echo "emulated, 8.0" >"$out/card.txt"
    small_shape=tiny large_shape=tiny prompts=32 contexts=0 n_ids=70
    kernel_tests "$(dirname "$binary")/simt_tests"
else
    if ! command -v nvidia-smi >/dev/null; then
        echo "gpu-check.sh: no NVIDIA driver is installed here (nvidia-smi is missing); nothing to check" >&2
        exit 1
    fi
    step card 20 nvidia-smi --query-gpu=name,compute_cap,driver_version,memory.total,clocks.max.mem,clocks.max.sm --format=csv,noheader ||
        { echo "gpu-check.sh: the driver does not answer; see $out/card.txt" >&2; exit 1; }
    architecture=$(cut -d, -f2 "$out/card.txt" | head -1 | tr -d ' .')
    if [ -z "$binary" ]; then
        build="$out/build"
        for tool in cmake ninja nvcc; do
            command -v $tool >/dev/null || [ -x /usr/local/cuda/bin/$tool ] || {
                echo "gpu-check.sh: $tool is missing: install it, or take a finished program with --binary" >&2
                exit 1
            }
        done
        step configure 60 cmake -G Ninja -B "$build" -DCMAKE_BUILD_TYPE=Release -DHEARTH_CUDA=ON \
            -DHEARTH_CUDA_ARCHITECTURES="${architecture:-80}" || exit 1
        step build 240 ninja -C "$build" hearth card_tests || exit 1
        binary="$build/bin/hearth"
        kernel_tests "$build/bin/card_tests"
    else
        echo "kernel tests are left out: they are built here, without --binary" | tee -a "$log" >&2
    fi
fi
step doctor 20 "$binary" doctor --json
grep -q '"cuda": *true' "$out/doctor.txt" || { echo "doctor sees no card:" >&2; cat "$out/doctor.txt" >&2; failures=$((failures + 1)); }

small="$out/random-small.gguf" large="$out/random-large.gguf"
step make-small 30 python3 packaging/random_gguf.py $small_shape q4_0 "$small"
step make-large 60 python3 packaging/random_gguf.py $large_shape q4_k "$large"

# Law 1: the same bits however the prompt is cut. Ids of a text that the small vocabulary has.
ids=$(python3 -c "print(','.join(str(3 + (i * 37 + i * i * 11) % 256) for i in range($n_ids)))")
hashes=""
for chunk in 1 7 64 512; do
    if step "law1-chunk-$chunk" 60 "$binary" inspect logits -m "$small" --ids "$ids" --chunk "$chunk" --isa cuda; then
        hashes="$hashes $(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["hash"])' "$out/law1-chunk-$chunk.txt")"
    fi
done
if [ "$(printf '%s\n' $hashes | sort -u | wc -l)" != 1 ]; then
    echo "law 1 is broken: logits depend on the chunk:$hashes" >&2
    failures=$((failures + 1))
fi

step bench-small 60 "$binary" bench -m "$small" --isa cuda --contexts ${contexts/4096/2048} --prompts ${prompts%,*} --json
step bench-large 120 "$binary" bench -m "$large" --isa cuda --contexts $contexts --prompts $prompts --json
if [ -n "$models" ]; then
    step models 90 python3 packaging/gpu_models.py "$binary" "$models"
fi
rm -f "$small" "$large"

{
    printf '{"card": "%s", "commit": "%s", "seconds": %s, "failures": %s,\n "steps": [\n' \
        "$(head -1 "$out/card.txt")" "$(git rev-parse --short HEAD 2>/dev/null || echo unknown)" \
        "$((SECONDS - started))" "$failures"
    (IFS=$'\n'; printf '  %s' "${results[0]}"; printf ',\n  %s' "${results[@]:1}")
    printf '\n ]'
    for name in doctor bench-small bench-large; do
        if python3 -m json.tool "$out/$name.txt" >/dev/null 2>&1; then
            printf ',\n "%s": ' "$name"
            cat "$out/$name.txt"
        fi
    done
    printf '}\n'
} >"$out/gpu-check.json"
printf '%s\n' "${results[@]}"
echo "report: $out/gpu-check.json, everything: $log; $failures failures in $((SECONDS - started)) s"
[ "$failures" = 0 ]
