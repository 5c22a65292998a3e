# A PostgreSQL server of the tests' own: a new cluster in a temporary directory, on loopback, gone afterwards.

postgres_dir=

start_postgres() {
  install_packages "${packages_test_postgres[@]}"
  postgres_bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
  postgres_dir=$(mktemp -d "${TMPDIR:-/tmp}/quayside-postgres.XXXXXX")
  local port; port=$("$node" -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })')
  [ "$(id -u)" != 0 ] || chown postgres "$postgres_dir"
  as_postgres "$postgres_bin/initdb" --auth trust --username quayside --encoding UTF8 --no-sync "$postgres_dir/data" >"$cache/postgres.log"
  as_postgres "$postgres_bin/pg_ctl" --wait --silent --pgdata "$postgres_dir/data" --log "$postgres_dir/log" \
    --options "-h 127.0.0.1 -p $port -k '$postgres_dir' -c fsync=off -c max_connections=200" start ||
    { cat "$postgres_dir/log" >&2; die "PostgreSQL does not start."; }
  export TEST_POSTGRES_URL=postgres://quayside@127.0.0.1:$port/postgres
}

stop_postgres() {
  [ -n "$postgres_dir" ] || return 0
  as_postgres "$postgres_bin/pg_ctl" --silent --pgdata "$postgres_dir/data" --mode immediate stop || true
  rm -rf "$postgres_dir"
  postgres_dir=
}

# PostgreSQL refuses to run as root.
as_postgres() { if [ "$(id -u)" = 0 ]; then (cd / && setpriv --reuid postgres --regid postgres --clear-groups -- "$@"); else "$@"; fi; }
