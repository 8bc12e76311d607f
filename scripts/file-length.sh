#!/bin/bash
# Fails for Go files that are too long to be read in one go. Tests and generated
# files are not looked at.
set -euo pipefail
cd "$(dirname "$0")/.."
limit=450

long=$(find . -name '*.go' -not -name '*_test.go' -not -path './.git/*' -not -path '*/node_modules/*' -print0 |
  xargs -0 awk -v limit=$limit '
    FNR == 1 { generated = 0 }
    FNR <= 5 && /^\/\/ Code generated .* DO NOT EDIT\.$/ { generated = 1 }
    FNR == limit + 1 && !generated { print FILENAME }')
if [ -n "$long" ]; then
  printf 'longer than %d lines, split by subject:\n%s\n' "$limit" "$long" >&2
  exit 1
fi
