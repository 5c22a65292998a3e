# The Docker engine: find it, install it, start it, stop what was started here.

dockerd_log=$cache/dockerd.log
dockerd_pid=$cache/dockerd.pid

engine_answers() { have docker && timeout 10 docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }
engine_refuses_us() { have docker && grep -qi 'permission denied' <<<"$(timeout 10 docker version 2>&1)"; }

# After this an engine answers, or the script has ended with a sentence.
need_engine() {
  engine_answers && return 0
  [ -z "${DOCKER_HOST:-}" ] || die "No engine answers at DOCKER_HOST=$DOCKER_HOST. Start it, or unset DOCKER_HOST to use the one of this machine."
  may_use_engine
  have dockerd || [ -x /usr/sbin/dockerd ] || install_packages "${packages_docker[@]}"
  have docker || install_packages docker-cli
  have iptables || [ -x /usr/sbin/iptables ] || install_packages iptables
  engine_answers || start_engine
  say "Docker $(docker version --format '{{.Server.Version}}') is running."
}

may_use_engine() {
  ! engine_refuses_us || die "Docker runs, but $(id -un) may not use it. Run this as root, or add the user to the group docker and sign in again."
}

start_engine() {
  if [ -d /run/systemd/system ] && have systemctl; then
    say "Starting Docker (systemctl start docker)"
    as_root systemctl start docker
    wait_for 60 eval 'engine_answers || engine_refuses_us' || die "Docker does not answer; systemctl status docker tells why."
  else
    start_dockerd
  fi
  may_use_engine
}

# Starts dockerd in the background, without systemd. Its default storage and firewall do not work on
# every kernel, so each is tried in turn until the engine answers.
start_dockerd() {
  local driver tables
  for tables in $(firewall_kinds); do
    use_iptables "$tables"
    for driver in auto fuse-overlayfs vfs; do
      [ "$driver" != fuse-overlayfs ] || have fuse-overlayfs || continue
      say "Starting dockerd (storage: $driver, firewall: $tables, log: .cache/dockerd.log)"
      launch_dockerd "$driver"
      wait_for 40 dockerd_settled || true
      if engine_answers || engine_refuses_us; then return 0; fi
      stop_dockerd
      tail -n 30 "$dockerd_log" | grep -qiE 'iptables|nftables' && break
    done
  done
  tail -n 20 "$dockerd_log" >&2
  die "dockerd does not start on this machine; the whole log is .cache/dockerd.log."
}

# With live-restore, containers survive a restart of the daemon.
launch_dockerd() {
  local options=(--live-restore --pidfile "$dockerd_pid" --log-level warn)
  [ "$1" = auto ] || options+=(--storage-driver "$1")
  as_root rm -f "$dockerd_pid"
  as_root env PATH="$PATH:/usr/sbin:/sbin" setsid dockerd "${options[@]}" </dev/null >>"$dockerd_log" 2>&1 9>&- &
  dockerd_job=$!
}

dockerd_settled() { engine_answers || engine_refuses_us || ! kill -0 "$dockerd_job" 2>/dev/null; }

# Ends only the daemon that these scripts started: dockerd itself writes and removes the pid file.
stop_dockerd() {
  alive "$dockerd_pid" dockerd || { as_root rm -f "$dockerd_pid"; return 0; }
  as_root kill "$(cat "$dockerd_pid")"
  wait_for 30 dockerd_gone || warn "dockerd is still running after 30 s."
}

dockerd_gone() { ! alive "$dockerd_pid" dockerd; }

firewall_kinds() {
  [ -x /usr/sbin/iptables-nft ] && echo nft
  [ -x /usr/sbin/iptables-legacy ] && echo legacy
  [ -x /usr/sbin/iptables-nft ] || [ -x /usr/sbin/iptables-legacy ] || echo default
}

use_iptables() {
  [ "$1" = default ] && return 0
  /usr/sbin/iptables --version 2>/dev/null | grep -q "$([ "$1" = nft ] && echo nf_tables || echo legacy)" && return 0
  as_root update-alternatives --set iptables "/usr/sbin/iptables-$1" >/dev/null
  as_root update-alternatives --set ip6tables "/usr/sbin/ip6tables-$1" >/dev/null
}
