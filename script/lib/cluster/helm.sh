# Helm, with which the chart is tried. Its build is kept apart from the cluster's programs.

helm_sources=$root/test/helm
helm_bin=$cluster/helm-$(cat "$helm_sources/go.sum" | sha256sum | cut -c1-12)

need_helm() {
  [ ! -x "$helm_bin/helm" ] || return 0
  need_go
  local started=$SECONDS scratch=$cluster/building/helm-$$
  say "Building helm (log: $cluster/building/helm.log)"
  mkdir -p "$helm_bin" "$scratch"
  (cd "$helm_sources" && CGO_ENABLED=0 GOTOOLCHAIN=local GOCACHE=$scratch/cache GOMODCACHE=$scratch/modules GOFLAGS='-trimpath -buildvcs=false -mod=readonly' \
    go build -ldflags '-s -w' -o "$helm_bin/helm.new" helm.sh/helm/v3/cmd/helm) \
    >"$cluster/building/helm.log" 2>&1 || { tail -n 20 "$cluster/building/helm.log" >&2; die "Helm could not be built."; }
  mv "$helm_bin/helm.new" "$helm_bin/helm"
  chmod -R u+w "$scratch"
  rm -rf "$scratch"
  say "Built helm in $((SECONDS - started)) s"
}
