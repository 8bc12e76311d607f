#!/bin/bash
# Lists the Go files that gofumpt would change, and fails if there are any; with
# -w changes them.
set -euo pipefail
cd "$(dirname "$0")/.."

files() { find . -name '*.go' -not -path './.git/*' -not -path '*/node_modules/*' -print0; }
gofumpt() { files | xargs -0 go tool -modfile=tools/go.mod gofumpt "$@"; }

if [ "${1:-}" = -w ]; then
  gofumpt -w
  exit
fi
unformatted=$(gofumpt -l)
if [ -n "$unformatted" ]; then
  printf 'not formatted (make fmt does it):\n%s\n' "$unformatted" >&2
  exit 1
fi
