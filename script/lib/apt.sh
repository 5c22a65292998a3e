# Debian packages: the lists for each task, and their installation.

packages_docker=(docker.io iptables)
packages_base_image=(debootstrap)
packages_test_docker=(busybox-static curl iptables xfsprogs btrfs-progs openssh-client rsync git python3 python3-venv)
packages_test_postgres=(postgresql)
packages_test_api=(python3-venv)
packages_test_tools=(litmus cadaver rclone curl davfs2 unzip python3 python3-venv zsh fish)
packages_test_quotas=(qemu-system-x86 busybox-static cpio kmod xfsprogs e2fsprogs)
packages_test_kubernetes=(docker-registry busybox-static)
packages_test_browser=(chromium fonts-dejavu-core unzip)
packages_bench=(wrk nginx-light curl rclone chromium postgresql)

install_packages() {
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null | grep -qx installed || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  have apt-get || die "These packages are missing: ${missing[*]}. apt-get is not available; install them by other means and run this again."
  say "Installing Debian packages: ${missing[*]} (log: .cache/apt.log)"
  apt_update_once
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
    </dev/null >>"$cache/apt.log" 2>&1 || { tail -n 20 "$cache/apt.log" >&2; die "apt-get could not install ${missing[*]}. The whole log is .cache/apt.log."; }
}

apt_updated=
apt_update_once() {
  [ -z "$apt_updated" ] || return 0
  as_root apt-get update -qq </dev/null >>"$cache/apt.log" 2>&1 ||
    warn "apt-get update failed; the package lists may be out of date (log: .cache/apt.log)."
  apt_updated=yes
}
