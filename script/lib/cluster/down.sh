# Stops the cluster, and removes the mounts, namespaces, links and rules that it made. Only processes
# that carry the cluster's own variable are ended: a pid file may be older than the last boot.

stop_cluster() {
  local pid
  end_simulation
  end_programs calico-felix coredns kube-proxy kubelet kube-scheduler kube-controller-manager
  end_containers
  end_programs containerd
  for pid in $(pgrep -f "containerd-shim.*-address $containerd/containerd.sock" || true); do kill -9 "$pid" 2>/dev/null || true; done
  end_programs kube-apiserver etcd
  remove_mounts
  remove_network
  [ ! -f "$state/sysctl.before" ] || sysctl -q -p "$state/sysctl.before" || true
  find /sys/fs/cgroup -depth -type d \( -path '*/kubepods/*' -o -name kubepods -o -path '*/k8s.io/*' -o -name k8s.io \) -exec rmdir {} \; 2>/dev/null || true
  find /var/log/containers -lname "$state/*" -delete 2>/dev/null || true
  rm -rf "$state/etcd" "$state/etcd.saved" "$state/kubelet" "$state/pod-logs" "$state/cni-addresses" "$state/sysctl.before" "$containerd"
}

# end_programs NAME…
end_programs() {
  local name pid
  for name in "$@"; do
    pid=$(cat "$state/$name.pid" 2>/dev/null) || continue
    if is_ours "$pid"; then
      kill "$pid" 2>/dev/null || true
      wait_for 2 is_over "$pid" || kill -9 "$pid" 2>/dev/null || true
      wait_for 5 is_over "$pid" || true
    fi
    rm -f "$state/$name.pid"
  done
}

is_ours() { tr '\0' '\n' <"/proc/$1/environ" 2>/dev/null | grep -qx "QUAYSIDE_TEST_CLUSTER=$state"; }
is_over() { ! kill -0 "$1" 2>/dev/null; }

end_containers() {
  local each
  [ -f "$state/containerd.pid" ] && is_ours "$(cat "$state/containerd.pid")" || return 0
  for each in $(containers tasks ls -q 2>/dev/null); do containers tasks kill -a -s KILL "$each" >/dev/null 2>&1 || true; done
  sleep 0.3
  for each in $(containers tasks ls -q 2>/dev/null); do containers tasks rm -f "$each" >/dev/null 2>&1 || true; done
  for each in $(containers containers ls -q 2>/dev/null); do containers containers rm "$each" >/dev/null 2>&1 || true; done
}

# Mounts can be nested.
remove_mounts() {
  local mount
  for _ in 1 2; do
    awk -v below="$state/" 'index($2, below) == 1 {print $2}' /proc/mounts | sort -r | while read -r mount; do umount -l "$mount" 2>/dev/null || true; done
  done
}

remove_network() {
  local name
  for name in $(ls /run/netns 2>/dev/null | grep '^cni-' || true); do
    ip netns del "$name" 2>/dev/null || { umount -l "/run/netns/$name" 2>/dev/null; rm -f "/run/netns/$name"; } || true
  done
  ip link del k8s0 2>/dev/null || true
  [ ! -x "$bin/kube-proxy" ] || "$bin/kube-proxy" --cleanup >/dev/null 2>&1 || true
  for name in iptables ip6tables; do remove_rules "$name"; done
  for name in $(ipset list -n 2>/dev/null | grep -E '^cali[46]' || true); do ipset destroy "$name" || true; done
  for name in $(ip -br link | grep -oE '^cali[0-9a-f]{11}' || true); do ip link del "$name" 2>/dev/null || true; done
}

# First the rules, those in the built-in chains too, then the empty chains.
remove_rules() {
  local tool=$1 table found rule chain ours='(CNI|KUBE|cali)[-:]'
  for table in raw mangle nat filter; do
    found=$("$tool-save" -t "$table" 2>/dev/null | grep -E "$ours") || continue
    grep -E '^-A' <<<"$found" | sed 's/^-A/-D/' | while read -r rule; do eval "$tool -w -t $table $rule" 2>/dev/null || true; done
    for chain in $(sed -n -E "s/^:($ours[^ ]+).*/\1/p" <<<"$found"); do "$tool" -w -t "$table" -F "$chain" 2>/dev/null || true; done
    for chain in $(sed -n -E "s/^:($ours[^ ]+).*/\1/p" <<<"$found"); do "$tool" -w -t "$table" -X "$chain" 2>/dev/null || true; done
  done
}
