# Faults of the cluster, for tests and measurements.

# signal_program SIGNAL NAME: STOP pauses a program of the cluster, CONT resumes it.
signal_program() {
  local pid
  pid=$(cat "$state/$2.pid" 2>/dev/null) && is_ours "$pid" || die "The cluster has no program $2."
  kill "-$1" "$pid"
}

# Copies the cluster's database, for restore_database.
save_database() {
  end_programs kube-apiserver etcd
  rm -rf "$state/etcd.saved"
  cp -a "$state/etcd" "$state/etcd.saved"
  launch_etcd
  start_api_server
}

# All programs restart, as Kubernetes' documentation requires: a watch from a later version would
# receive nothing. Containers continue.
restore_database() {
  [ -d "$state/etcd.saved" ] || die "Nothing was saved: script/cluster save does that."
  end_programs calico-felix coredns kube-proxy kubelet kube-scheduler kube-controller-manager kube-apiserver etcd
  rm -rf "$state/etcd"
  cp -a "$state/etcd.saved" "$state/etcd"
  launch_etcd
  start_api_server
  start_controllers
  start_policy
  start_kubelet
  start_services
}
