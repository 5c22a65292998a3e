# Faults of the cluster, for tests and measurements.

# signal_program SIGNAL NAME: STOP pauses a program of the cluster, CONT resumes it.
signal_program() {
  local pid
  pid=$(cat "$state/$2.pid" 2>/dev/null) && is_ours "$pid" || die "The cluster has no program $2."
  kill "-$1" "$pid"
}

# Keeps a copy of everything that the cluster knows, to which restore_database goes back.
save_database() {
  end_programs kube-apiserver etcd
  rm -rf "$state/etcd.saved"
  cp -a "$state/etcd" "$state/etcd.saved"
  launch_etcd
  start_api_server
}

# As Kubernetes' documentation says, all its programs are started anew: a watch from the future would
# be silent. Containers go on.
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
