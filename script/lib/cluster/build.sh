# The programs of the test cluster, and where everything of it lies.

packages_cluster=(containerd runc containernetworking-plugins iptables ipset iproute2 busybox-static openssl curl procps)
kubernetes_version=v1.34.4
least_go=1.26

cluster=${XDG_CACHE_HOME:-$HOME/.cache}/quayside/cluster
sources=$root/test/cluster
bin=$cluster/bin-$(cat "$sources"/*/main.go "$sources"/*/go.sum "${BASH_SOURCE[0]}" | sha256sum | cut -c1-12)
state=$cluster/state
logs=$state/logs
keys=$state/keys
kubeconfigs=$state/kubeconfigs
containerd=$state/containerd

node_address=10.123.0.1
node_name=node1
pod_network=10.244.0.0/24
service_network=10.96.0.0/16
api_port=16443
etcd_port=12379

# Programs of the cluster, started in the background: launch NAME COMMAND…
launch() {
  local name=$1; shift
  QUAYSIDE_TEST_CLUSTER=$state setsid nohup "$@" >"$logs/$name.log" 2>&1 </dev/null 9>&- &
  echo $! >"$state/$name.pid"
}

# Waits for something of the cluster: await WHAT SECONDS COMMAND…
await() {
  local what=$1; shift
  wait_for "$@" || die "$what did not get ready; the logs are in $logs."
}

kube() { "$bin/kubectl" --kubeconfig "$kubeconfigs/admin.conf" "$@"; }
containers() { ctr --address "$containerd/containerd.sock" --namespace k8s.io "$@"; }

need_cluster_programs() {
  install_packages "${packages_cluster[@]}"
  [ ! -f "$bin/complete" ] || return 0
  need_go
  mkdir -p "$bin" "$cluster/building"
  local scratch=$cluster/building/go-$$ name
  for name in kubernetes coredns calico; do build_program "$name" "$scratch"; done
  # Nothing of the gigabytes that Go kept for the build is needed again; modules are read-only.
  chmod -R u+w "$scratch"
  rm -rf "$scratch"
  touch "$bin/complete"
}

need_go() {
  local found
  found=$(go env GOVERSION 2>/dev/null) || die "The cluster is built with Go $least_go or newer, and there is none: install it from https://go.dev/dl/, or set KUBECONFIG to a cluster of your own."
  [ "$(printf '%s\n' "$least_go" "${found#go}" | sort -V | head -n 1)" = "$least_go" ] ||
    die "The cluster is built with Go $least_go or newer; this is $found."
}

build_program() {
  local started=$SECONDS name=$1 scratch=$2 flags=-s\ -w
  say "Building $name (log: $cluster/building/$name.log)"
  [ "$name" != kubernetes ] || flags="$flags $(version_flags)"
  mkdir -p "$scratch"
  (cd "$sources/$name" && CGO_ENABLED=0 GOTOOLCHAIN=local GOCACHE=$scratch/cache GOMODCACHE=$scratch/modules GOFLAGS='-trimpath -buildvcs=false -mod=readonly' \
    go build -ldflags "$flags" -o "$bin/$name.new" . && { [ "$name" != calico ] || copy_definitions "$scratch"; }) \
    >"$cluster/building/$name.log" 2>&1 || { tail -n 20 "$cluster/building/$name.log" >&2; die "$name could not be built."; }
  mv "$bin/$name.new" "$bin/$name"
  link_names "$name"
  say "Built $name in $((SECONDS - started)) s"
}

version_flags() {
  local package=k8s.io/component-base/version
  echo "-X $package.gitVersion=$kubernetes_version -X $package.gitMajor=1 -X $package.gitMinor=34 -X $package.gitCommit=0 -X $package.gitTreeState=clean -X $package.buildDate=2026-01-01T00:00:00Z"
}

# Calico's own kinds of objects, from its module.
copy_definitions() {
  local module
  module=$(GOMODCACHE=$1/modules go list -mod=readonly -m -f '{{.Dir}}' github.com/projectcalico/calico)
  mkdir -p "$bin/definitions"
  install -m644 "$module"/libcalico-go/config/crd/*.yaml "$bin/definitions/"
}

link_names() {
  local name
  case "$1" in
    kubernetes) for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl; do ln -sf kubernetes "$bin/$name"; done ;;
    calico) ln -sf calico "$bin/calico-felix" ;;
  esac
}
