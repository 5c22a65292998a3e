# Quayside itself in the background: its data directory, its first password, its process.

data=${QUAYSIDE_DATA_DIR:-$root/data}
quayside_pid=$data/quayside.pid
quayside_log=$data/quayside.log
password_file=$data/admin-password

quayside_runs() { alive "$quayside_pid" quayside.js; }

# The line that the server prints once it accepts requests names its addresses: API, apps, files.
ready_line() { grep -m 1 '^Quayside is ready' "$quayside_log" 2>/dev/null; }
address() { ready_line | grep -oE 'https?://[^ ]+' | sed -n "$1p"; }
base_url() { address 1; }
files_url() { address 3; }

# Writes the initial password of `admin`: QUAYSIDE_ADMIN_PASSWORD, or a random one.
need_password() {
  [ ! -s "$password_file" ] || return 0
  (umask 077 && printf '%s\n' "${QUAYSIDE_ADMIN_PASSWORD:-$("$node" -e 'console.log(crypto.randomBytes(12).toString("base64url"))')}" >"$password_file")
}

need_quayside() {
  mkdir -p -m 700 "$data"
  need_password
  quayside_runs && wait_for 20 ready_line && { say "Quayside runs already (log: ${quayside_log#"$root/"})"; return 0; }
  say "Starting Quayside (log: ${quayside_log#"$root/"})"
  launch_quayside
  wait_for 20 quayside_settled || true
  ready_line >/dev/null && kill -0 "$quayside_job" 2>/dev/null || {
    tail -n 20 "$quayside_log" >&2
    rm -f "$quayside_pid"
    die "Quayside did not start."
  }
}

# Its own session, so that the terminal's end is not its end; without the script's lock. The log of
# the start before is kept. The allocator gives memory back to the system, as docs/decisions/0024
# has it.
launch_quayside() {
  [ ! -f "$quayside_log" ] || mv -f "$quayside_log" "$quayside_log.1"
  QUAYSIDE_DATA_DIR=$data QUAYSIDE_ADMIN_PASSWORD=$(cat "$password_file") \
    MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=1048576 MALLOC_TRIM_THRESHOLD_=1048576 \
    setsid "$node" "$root/bin/quayside.js" serve </dev/null >"$quayside_log" 2>&1 9>&- &
  quayside_job=$!
  echo $quayside_job >"$quayside_pid"
}

quayside_settled() { ready_line || ! kill -0 "$quayside_job" 2>/dev/null; }

stop_quayside() {
  quayside_runs || { rm -f "$quayside_pid"; say "Quayside is not running."; return 0; }
  say "Stopping Quayside; its runs continue."
  kill "$(cat "$quayside_pid")"
  wait_for 30 quayside_gone || { warn "It did not end within 30 s; killing it."; kill -9 "$(cat "$quayside_pid")"; }
  rm -f "$quayside_pid"
}

quayside_gone() { ! quayside_runs; }
