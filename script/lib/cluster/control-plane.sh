# etcd, the API server, the controllers and the scheduler.

# The node's address is on an empty bridge, so that nothing depends on the machine's own addresses.
start_control_plane() {
  mkdir -p "$logs" "$keys" "$kubeconfigs"
  chmod 700 "$keys" "$kubeconfigs"
  ip link add k8s0 type bridge
  ip addr add "$node_address/32" dev k8s0
  ip link set k8s0 up
  make_keys
  make_tokens
  start_etcd
  start_api_server
  start_controllers
}

make_keys() {
  [ ! -s "$keys/node.crt" ] || return 0
  openssl genrsa -out "$keys/sa.key" 2048 2>/dev/null
  openssl rsa -in "$keys/sa.key" -pubout -out "$keys/sa.pub" 2>/dev/null
  openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=test-ca -keyout "$keys/ca.key" -out "$keys/ca.crt" 2>/dev/null
  local names=DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local
  sign apiserver /CN=kube-apiserver "subjectAltName=IP:127.0.0.1,IP:$node_address,IP:10.96.0.1,$names"
  # The kubelet allows only this client to read logs and run programs.
  sign kubelet-client /O=system:masters/CN=apiserver-kubelet-client extendedKeyUsage=clientAuth
  sign node "/O=system:nodes/CN=system:node:$node_name" "subjectAltName=IP:$node_address"
}

# A certificate of the cluster's authority: sign NAME SUBJECT EXTENSION
sign() {
  openssl req -newkey rsa:2048 -nodes -subj "$2" -keyout "$keys/$1.key" -out "$keys/$1.csr" 2>/dev/null
  openssl x509 -req -in "$keys/$1.csr" -CA "$keys/ca.crt" -CAkey "$keys/ca.key" -CAcreateserial -days 3650 -out "$keys/$1.crt" -extfile <(echo "$3") 2>/dev/null
}

# Pods can reach the API server, so the tokens are random.
make_tokens() {
  local account user groups
  (umask 077; : >"$keys/tokens.csv")
  while read -r account user groups; do
    local token; token=$(openssl rand -hex 24)
    echo "$token,$user,$account${groups:+,\"$groups\"}" >>"$keys/tokens.csv"
    write_kubeconfig "$account" "$token"
  done <<END
admin admin system:masters
controllers system:kube-controller-manager
scheduler system:kube-scheduler
node system:node:$node_name system:nodes
proxy system:kube-proxy
dns coredns
calico calico
END
}

write_kubeconfig() {
  (umask 077; cat >"$kubeconfigs/$1.conf") <<END
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://127.0.0.1:$api_port", certificate-authority: $keys/ca.crt}}]
users: [{name: $1, user: {token: $2}}]
contexts: [{name: test, context: {cluster: test, user: $1}}]
current-context: test
END
}

# Without fsync: nothing of a test cluster has to survive the machine.
start_etcd() {
  rm -rf "$state/etcd"
  launch_etcd
}

launch_etcd() {
  local client=http://127.0.0.1:$etcd_port peer=http://127.0.0.1:$((etcd_port + 1))
  launch etcd "$bin/etcd" --data-dir "$state/etcd" --listen-client-urls "$client" --advertise-client-urls "$client" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer" --unsafe-no-fsync
  await etcd 30 curl -sf "$client/health"
}

start_api_server() {
  launch kube-apiserver "$bin/kube-apiserver" "--etcd-servers=http://127.0.0.1:$etcd_port" \
    --bind-address=0.0.0.0 "--secure-port=$api_port" "--advertise-address=$node_address" "--cert-dir=$keys" \
    "--tls-cert-file=$keys/apiserver.crt" "--tls-private-key-file=$keys/apiserver.key" "--client-ca-file=$keys/ca.crt" --anonymous-auth=false \
    "--kubelet-client-certificate=$keys/kubelet-client.crt" "--kubelet-client-key=$keys/kubelet-client.key" "--kubelet-certificate-authority=$keys/ca.crt" \
    "--token-auth-file=$keys/tokens.csv" --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
    --service-account-issuer=https://kubernetes.default.svc "--service-account-key-file=$keys/sa.pub" "--service-account-signing-key-file=$keys/sa.key" \
    "--service-cluster-ip-range=$service_network" --allow-privileged=true --kubelet-preferred-address-types=InternalIP --profiling=false
  await 'The API server' 60 kube get --raw /readyz
}

# launch_controller_manager GRACE: how long a node may be silent before it counts as lost.
launch_controller_manager() {
  launch kube-controller-manager "$bin/kube-controller-manager" --bind-address=127.0.0.1 --leader-elect=false --profiling=false \
    "--kubeconfig=$kubeconfigs/controllers.conf" "--authentication-kubeconfig=$kubeconfigs/controllers.conf" "--authorization-kubeconfig=$kubeconfigs/controllers.conf" \
    --use-service-account-credentials=true "--service-account-private-key-file=$keys/sa.key" "--root-ca-file=$keys/ca.crt" \
    "--cluster-cidr=$pod_network" --allocate-node-cidrs=false "--service-cluster-ip-range=$service_network" \
    --kube-api-qps=200 --kube-api-burst=400 "--node-monitor-grace-period=$1"
}

start_controllers() {
  launch_controller_manager 20s
  launch kube-scheduler "$bin/kube-scheduler" --bind-address=127.0.0.1 --leader-elect=false --profiling=false \
    "--kubeconfig=$kubeconfigs/scheduler.conf" "--authentication-kubeconfig=$kubeconfigs/scheduler.conf" "--authorization-kubeconfig=$kubeconfigs/scheduler.conf"
  await 'The controller manager' 30 curl -sfk https://127.0.0.1:10257/healthz
  await 'The scheduler' 30 curl -sfk https://127.0.0.1:10259/healthz
  await 'The default service account' 30 kube --namespace default get serviceaccount default
}
