# Shared by every script: strict mode, plain progress lines, root rights.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=$root/.cache
node=$root/node_modules/node/bin/node
mkdir -p "$cache"

say() { printf '%s\n' "$*"; }
warn() { printf '%s\n' "$*" >&2; }
die() { warn "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# Runs a command as root: directly, or through sudo without a prompt that nobody could answer.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif [ -t 0 ] && have sudo; then sudo "$@"
  elif have sudo && sudo -n true 2>/dev/null; then sudo "$@"
  else die "This step needs root: $*. Run the script as root, or as a user who may use sudo."
  fi
}

# Waits until a command succeeds: wait_for SECONDS COMMAND…
wait_for() {
  local left=$(($1 * 10)); shift
  until "$@" >/dev/null 2>&1; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || return 1
    sleep 0.1
  done
}

# Tells whether the process in a pid file is alive and still the program that wrote it: alive FILE
# WORD-OF-ITS-COMMAND-LINE
alive() {
  local pid
  pid=$(cat "$1" 2>/dev/null) || return 1
  [ -n "$pid" ] && [ -r "/proc/$pid/cmdline" ] && grep -qs -- "$2" "/proc/$pid/cmdline"
}
