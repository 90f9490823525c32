#!/bin/sh
# lint.sh CLANG_TIDY BUILD_DIR: clang-tidy over the sources changed against HEAD, or in the last commit.
files=$(git diff --name-only --diff-filter=d HEAD -- '*.cpp')
[ -n "$files" ] || files=$(git diff --name-only --diff-filter=d HEAD~1 -- '*.cpp')
[ -n "$files" ] || { echo "lint: no changed sources"; exit 0; }
exec "$1" --quiet -p "$2" $files
