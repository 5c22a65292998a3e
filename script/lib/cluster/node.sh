# The node: containerd and a kubelet of its own, services and names.

node_is_ready() { kube get node "$node_name" --output "jsonpath={.status.conditions[?(@.type=='Ready')].status}" | grep -q True; }

start_node() {
  mkdir -p "$containerd" "$state/cni" "$state/plugins"
  write_network_plugin
  write_containerd_config
  # The kubelet changes these and never restores them.
  [ -s "$state/sysctl.before" ] || sysctl vm.overcommit_memory kernel.panic kernel.panic_on_oops >"$state/sysctl.before"
  launch containerd containerd --config "$state/containerd.toml"
  await containerd 20 containers version
  load_pause_image
  write_kubelet_config
  start_kubelet
}

start_kubelet() {
  install -D --mode 644 "$root/src/engine/docker/containers/seccomp.json" "$state/kubelet/seccomp/quayside.json"
  launch kubelet "$bin/kubelet" "--config=$state/kubelet.yaml" "--kubeconfig=$kubeconfigs/node.conf" "--hostname-override=$node_name" \
    "--node-ip=$node_address" "--root-dir=$state/kubelet" "--cert-dir=$keys"
  await 'The kubelet' 60 curl -sf http://127.0.0.1:10248/healthz
  await 'The node' 60 node_is_ready
}

# containerd 1.6 takes one folder of plugins: Debian's and Calico's are linked into it.
write_network_plugin() {
  ln -sf /usr/lib/cni/* "$state/plugins/"
  ln -sf "$bin/calico" "$state/plugins/calico"
  cat >"$state/cni/10-calico.conflist" <<END
{"cniVersion":"1.0.0","name":"k8s","plugins":[
 {"type":"calico","datastore_type":"kubernetes","nodename":"$node_name","nodename_file_optional":true,"mtu":1500,"log_level":"warning","log_file_path":"$logs/cni.log",
  "ipam":{"type":"host-local","dataDir":"$state/cni-addresses","ranges":[[{"subnet":"$pod_network"}]],"routes":[{"dst":"0.0.0.0/0"}]},
  "policy":{"type":"k8s"},"kubernetes":{"kubeconfig":"$kubeconfigs/calico.conf"}},
 {"type":"portmap","snat":true,"capabilities":{"portMappings":true}}]}
END
}

# Without the right to lower the score for being killed, which small virtual machines lack.
write_containerd_config() {
  cat >"$state/containerd.toml" <<END
version = 2
root = "$containerd/root"
state = "$containerd/state"
oom_score = 0
disabled_plugins = ["io.containerd.internal.v1.restart","io.containerd.snapshotter.v1.aufs","io.containerd.snapshotter.v1.btrfs","io.containerd.snapshotter.v1.zfs","io.containerd.snapshotter.v1.devmapper"]
[grpc]
  address = "$containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/library/pause:local"
  restrict_oom_score_adj = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$state/plugins"
    conf_dir = "$state/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
[plugins."io.containerd.internal.v1.opt"]
  path = "$containerd/opt"
END
}

write_kubelet_config() {
  echo 'nameserver 127.0.0.1' >"$state/resolv.conf"
  cat >"$state/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $node_address
containerRuntimeEndpoint: unix://$containerd/containerd.sock
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $keys/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $keys/node.crt
tlsPrivateKeyFile: $keys/node.key
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
readOnlyPort: 0
healthzBindAddress: 127.0.0.1
resolvConf: $state/resolv.conf
clusterDomain: cluster.local
clusterDNS: ["$node_address"]
nodeStatusUpdateFrequency: 5s
syncFrequency: 10s
evictionHard: {memory.available: "100Mi", nodefs.available: "1%", imagefs.available: "1%", nodefs.inodesFree: "1%"}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
maxPods: 250
volumePluginDir: $state/volume-plugins
podLogsDir: $state/pod-logs
shutdownGracePeriod: 0s
END
}

# The program that holds a pod's namespaces: a shell that reaps, since no registry has to be there.
load_pause_image() {
  local folder layer config
  folder=$(mktemp -d)
  mkdir -p "$folder/root/bin" "$folder/image"
  cp /usr/bin/busybox "$folder/root/bin/busybox"
  ln -s busybox "$folder/root/bin/sh"
  ln -s busybox "$folder/root/bin/sleep"
  tar --numeric-owner --owner=0 --group=0 --mtime=@0 --sort=name -C "$folder/root" -cf "$folder/image/layer.tar" .
  layer=$(sha256sum "$folder/image/layer.tar" | cut -d' ' -f1)
  cat >"$folder/config" <<END
{"architecture":"$(dpkg --print-architecture)","os":"linux","config":{"Env":["PATH=/bin"],"Entrypoint":["/bin/sh","-c","trap exit TERM INT; while :; do sleep 2147483647 & wait; done"]},"rootfs":{"type":"layers","diff_ids":["sha256:$layer"]}}
END
  config=$(sha256sum "$folder/config" | cut -d' ' -f1)
  mv "$folder/config" "$folder/image/$config.json"
  echo "[{\"Config\":\"$config.json\",\"RepoTags\":[\"docker.io/library/pause:local\"],\"Layers\":[\"layer.tar\"]}]" >"$folder/image/manifest.json"
  tar -C "$folder/image" -c . | containers images import - >/dev/null
  rm -rf "$folder"
}

# Names come from CoreDNS as a process of the host, addresses of services from kube-proxy. Node ports
# on loopback stay off: they would open the host's loopback to containers, and stay so.
start_services() {
  launch kube-proxy "$bin/kube-proxy" "--kubeconfig=$kubeconfigs/proxy.conf" "--hostname-override=$node_name" --proxy-mode=iptables "--cluster-cidr=$pod_network" \
    --conntrack-max-per-core=0 --conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0 \
    --bind-address=127.0.0.1 --iptables-localhost-nodeports=false --metrics-bind-address=127.0.0.1:10249 --healthz-bind-address=127.0.0.1:10256
  kube apply --filename - >/dev/null <<'END'
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: coredns}
rules:
- {apiGroups: [""], resources: [endpoints, services, pods, namespaces], verbs: [list, watch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: coredns}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: coredns}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: coredns}]
END
  cat >"$state/Corefile" <<END
.:53 {
  bind $node_address
  errors
  health 127.0.0.1:18081
  ready 127.0.0.1:18181
  kubernetes cluster.local in-addr.arpa {
    kubeconfig $kubeconfigs/dns.conf
    ttl 1
  }
  cache {
    disable success cluster.local
    disable denial cluster.local
  }
}
END
  launch coredns "$bin/coredns" -conf "$state/Corefile"
  await CoreDNS 30 curl -sf http://127.0.0.1:18181/ready
  await kube-proxy 30 curl -sf http://127.0.0.1:10256/healthz
}
