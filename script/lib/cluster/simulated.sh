# Simulated nodes, for measurements with many runs: kwok reports their pods as running, and nothing
# runs.

# The addresses of simulated pods and nodes lead to this machine itself.
simulated_pods=10.200.0.0/16
simulated_nodes=10.201
# A thousand nodes that renew their leases every few seconds would use all of the cluster's time.
simulated_lease_s=600
simulated_grace=1200s

# simulate_nodes COUNT
simulate_nodes() {
  local network
  for network in "$simulated_pods" "$simulated_nodes.0.0/16"; do ip route replace local "$network" dev lo; done
  end_programs kube-controller-manager kwok
  write_node_stages
  launch_controller_manager "$simulated_grace"
  launch kwok "$kwok_bin/kwok" "--kubeconfig=$kubeconfigs/admin.conf" "--config=$state/kwok.yaml" --manage-all-nodes=false \
    --manage-nodes-with-label-selector=type=simulated "--node-lease-duration-seconds=$simulated_lease_s" \
    "--cidr=$simulated_pods" --server-address=127.0.0.1:10246
  await kwok 30 curl -sf http://127.0.0.1:10246/healthz
  kube delete nodes --selector type=simulated --wait=false >/dev/null
  simulated_node_list "$1" | kube create --validate=false --filename - >/dev/null
  await 'The simulated nodes' 300 simulated_are_ready "$1"
}

# Nodes become ready and say no more: kwok's own stages repeat that every 20 seconds, a real kubelet
# every five minutes.
write_node_stages() {
  cat >"$state/kwok.yaml" <<'END'
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: node-initialize}
spec:
  resourceRef: {apiGroup: v1, kind: Node}
  selector:
    matchExpressions:
    - {key: '.status.conditions.[] | select( .type == "Ready" ) | .status', operator: NotIn, values: ["True"]}
  next:
    statusTemplate: |
      {{ $now := Now }}
      conditions:
      {{ range NodeConditions }}
      - lastHeartbeatTime: {{ $now | Quote }}
        lastTransitionTime: {{ $now | Quote }}
        message: {{ .message | Quote }}
        reason: {{ .reason | Quote }}
        status: {{ .status | Quote }}
        type: {{ .type | Quote }}
      {{ end }}
      phase: Running
END
}

simulated_node_list() {
  local n size='{cpu: "64", memory: 512Gi, pods: "110"}'
  for ((n = 0; n < $1; n += 1)); do
    cat <<END
---
apiVersion: v1
kind: Node
metadata: {name: simulated-$n, labels: {type: simulated, kubernetes.io/hostname: simulated-$n}}
status:
  allocatable: $size
  capacity: $size
  addresses: [{type: InternalIP, address: $simulated_nodes.$((n / 250)).$((n % 250 + 1))}]
END
  done
}

simulated_are_ready() {
  [ "$(kube get nodes --selector type=simulated --no-headers | grep -cw Ready)" -ge "$1" ]
}

end_simulation() {
  local network
  end_programs kwok
  for network in "$simulated_pods" "$simulated_nodes.0.0/16"; do ip route del local "$network" dev lo 2>/dev/null || true; done
}
