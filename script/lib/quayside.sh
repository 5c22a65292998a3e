# Quayside itself in the background: its data directory, its first password, its process.

data=${QUAYSIDE_DATA_DIR:-$root/data}
quayside_pid=$data/quayside.pid
quayside_log=$data/quayside.log
password_file=$data/admin-password

quayside_runs() { alive "$quayside_pid" quayside.js; }

base_url() { printf '%s' "${QUAYSIDE_BASE_URL:-http://localhost:${QUAYSIDE_PORT:-8080}}"; }
files_url() { printf '%s' "${QUAYSIDE_FILES_URL:-http://localhost:${QUAYSIDE_FILES_PORT:-8082}}"; }

# The password that the first start gives to `admin`; an own choice by QUAYSIDE_ADMIN_PASSWORD is kept there as well.
need_password() {
  [ ! -s "$password_file" ] || return 0
  (umask 077 && printf '%s\n' "${QUAYSIDE_ADMIN_PASSWORD:-$("$node" -e 'console.log(crypto.randomBytes(12).toString("base64url"))')}" >"$password_file")
}

need_quayside() {
  mkdir -p -m 700 "$data"
  need_password
  quayside_runs && wait_for 20 quayside_answers && return 0
  say "Starting Quayside (log: ${quayside_log#"$root/"})"
  launch_quayside
  wait_for 20 quayside_settled || true
  quayside_answers || {
    tail -n 20 "$quayside_log" >&2
    rm -f "$quayside_pid"
    die "Quayside did not start."
  }
}

# Its own session, so that the terminal's end is not its end. The log starts anew with each start.
launch_quayside() {
  QUAYSIDE_DATA_DIR=$data QUAYSIDE_ADMIN_PASSWORD=$(cat "$password_file") \
    setsid "$node" "$root/bin/quayside.js" serve </dev/null >"$quayside_log" 2>&1 &
  quayside_job=$!
  echo $quayside_job >"$quayside_pid"
}

quayside_settled() { ! kill -0 "$quayside_job" 2>/dev/null || quayside_answers; }
quayside_answers() { "$node" -e 'fetch(process.argv[1]).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))' "$(base_url)/healthz"; }

stop_quayside() {
  quayside_runs || { rm -f "$quayside_pid"; say "Quayside is not running."; return 0; }
  say "Stopping Quayside; what it runs goes on."
  kill "$(cat "$quayside_pid")"
  wait_for 30 quayside_gone || { warn "It did not end within 30 s; killing it."; kill -9 "$(cat "$quayside_pid")"; }
  rm -f "$quayside_pid"
}

quayside_gone() { ! quayside_runs; }
