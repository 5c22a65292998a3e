# Calico's agent as a process of the host: it enforces network policies by iptables and ipset. IPv6
# stays on although pods have no such addresses: without it a pod under a policy that denies
# everything still reaches the host by a link-local one. Usage reports are off: they call home.

start_policy() {
  local kind
  kube apply --server-side --filename "$bin/definitions" >/dev/null
  for kind in clusterinformations ippools felixconfigurations; do
    kube wait --for=condition=Established --timeout=30s "crd/$kind.crd.projectcalico.org" >/dev/null
  done
  kube apply --filename - >/dev/null <<END
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: calico}
rules:
- {apiGroups: [""], resources: [pods, nodes, namespaces, serviceaccounts, services, endpoints], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [pods/status, nodes/status], verbs: [patch, update]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [get, list, watch]}
- {apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: [get, list, watch]}
- {apiGroups: [crd.projectcalico.org], resources: ["*"], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: calico}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: calico}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: calico}]
---
apiVersion: crd.projectcalico.org/v1
kind: ClusterInformation
metadata: {name: default}
spec: {datastoreReady: true, clusterType: k8s}
---
apiVersion: crd.projectcalico.org/v1
kind: IPPool
metadata: {name: pods}
spec: {cidr: $pod_network, natOutgoing: true, ipipMode: Never, vxlanMode: Never, blockSize: 26, nodeSelector: all(), allowedUses: [Workload]}
END
  launch calico-felix env "KUBECONFIG=$kubeconfigs/calico.conf" FELIX_DATASTORETYPE=kubernetes "FELIX_FELIXHOSTNAME=$node_name" \
    FELIX_USAGEREPORTINGENABLED=false FELIX_IPV6SUPPORT=true FELIX_BPFENABLED=false FELIX_XDPENABLED=false FELIX_IPTABLESBACKEND=auto \
    FELIX_DEFAULTENDPOINTTOHOSTACTION=RETURN FELIX_INTERFACEPREFIX=cali FELIX_IPINIPENABLED=false FELIX_VXLANENABLED=false FELIX_WIREGUARDENABLED=false \
    FELIX_LOGSEVERITYSCREEN=info FELIX_LOGFILEPATH=none FELIX_LOGSEVERITYFILE=none FELIX_LOGSEVERITYSYS=none \
    FELIX_HEALTHENABLED=true FELIX_HEALTHHOST=127.0.0.1 FELIX_HEALTHPORT=9099 "$bin/calico-felix"
  await Calico 60 curl -sf http://127.0.0.1:9099/readiness
}
