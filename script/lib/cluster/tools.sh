# Tools that are not part of the cluster: Helm, which renders and installs the chart, and kwok, which
# simulates nodes.

helm_bin=$cluster/helm-$(sha256sum <"$root/test/helm/go.sum" | cut -c1-12)
kwok_bin=$cluster/kwok-$(sha256sum <"$root/test/kwok/go.sum" | cut -c1-12)

need_helm() { need_tool helm helm.sh/helm/v3/cmd/helm "$helm_bin"; }
need_kwok() { need_tool kwok sigs.k8s.io/kwok/cmd/kwok "$kwok_bin"; }

# Builds a program with the versions of test/NAME: need_tool NAME PACKAGE FOLDER
need_tool() {
  local started=$SECONDS name=$1 package=$2 folder=$3 scratch=$cluster/building/$1-$$
  [ ! -x "$folder/$name" ] || return 0
  need_go
  say "Building $name (log: $cluster/building/$name.log)"
  mkdir -p "$folder" "$scratch"
  (cd "$root/test/$name" && CGO_ENABLED=0 GOTOOLCHAIN=local GOCACHE=$scratch/cache GOMODCACHE=$scratch/modules GOFLAGS='-trimpath -buildvcs=false -mod=readonly' \
    go build -ldflags '-s -w' -o "$folder/$name.new" "$package") \
    >"$cluster/building/$name.log" 2>&1 || { tail -n 20 "$cluster/building/$name.log" >&2; die "$name could not be built."; }
  mv "$folder/$name.new" "$folder/$name"
  chmod -R u+w "$scratch"
  rm -rf "$scratch"
  say "Built $name in $((SECONDS - started)) s"
}
