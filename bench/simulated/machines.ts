import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer as createSecureServer } from "node:https"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { createCertificate } from "../../test/fixtures/kubernetes/certificate.ts"

const pods = "10.200."
const kubeletPort = 10_250
/** Source: `ListenAndServeKubeletServer` in pkg/kubelet/server/server.go of Kubernetes. */
const kubeletIdleMs = 90_000
/** A kubelet says about this much of a pod, nearly all of which nobody reads. */
const filler = "x".repeat(2_500)

/**
 * The programs and kubelets of simulated nodes. `script/cluster simulate` leads the addresses of
 * pods and nodes to this machine; kwok only says that the pods run.
 */
export interface SimulatedMachines extends AsyncDisposable {
  /** The port on which every pod's program answers. */
  readonly programPort: number
  /** The pods of which each node's kubelet has figures. */
  place(pods: readonly { uid: string; node: string }[]): void
}

export async function openMachines(nodes: number): Promise<SimulatedMachines> {
  const podsOf = new Map<string, string[]>()
  const startedAt = performance.now()
  const program = createServer((socket) => answerForProgram(socket))
  const kubelet = createSecureServer(await createCertificate(), (request, response) =>
    answerForKubelet(request, response, { podsOf, seconds: (performance.now() - startedAt) / 1_000 }),
  )
  kubelet.keepAliveTimeout = kubeletIdleMs
  const kubelets = Array.from({ length: nodes }, () => createServer((socket) => void kubelet.emit("connection", socket)))
  await Promise.all([listen(program, 0, "0.0.0.0"), ...kubelets.map((each, n) => listen(each, kubeletPort, nodeAddress(n)))])
  return {
    programPort: (program.address() as AddressInfo).port,
    place(placed) {
      podsOf.clear()
      for (const { uid, node } of placed) {
        const address = nodeAddress(Number(/^simulated-(\d+)$/.exec(node)?.[1]))
        podsOf.set(address, [...(podsOf.get(address) ?? []), uid])
      }
    },
    async [Symbol.asyncDispose]() {
      kubelet.closeAllConnections()
      for (const each of [program, ...kubelets]) each.close()
    },
  }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => server.once("error", reject).listen({ port, host, backlog: 2_000 }, resolve))
}

/** As `script/cluster simulate` gives them. */
function nodeAddress(n: number): string {
  return `10.201.${Math.floor(n / 250)}.${(n % 250) + 1}`
}

/** It listens on all addresses, since those of pods are not known before, but serves pods alone. */
function answerForProgram(socket: Socket): void {
  socket.on("error", () => {})
  if (socket.localAddress?.startsWith(pods))
    socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\nyes"))
  else socket.destroy()
}

function answerForKubelet(
  { socket }: IncomingMessage,
  response: ServerResponse,
  { podsOf, seconds }: { podsOf: ReadonlyMap<string, readonly string[]>; seconds: number },
): void {
  const own = podsOf.get(socket.localAddress ?? "") ?? []
  const described = own.map((uid) => ({
    podRef: { uid },
    cpu: { usageCoreNanoSeconds: Math.round(seconds * 1e6) },
    memory: { workingSetBytes: 50 * 2 ** 20 },
    network: { interfaces: [{ rxBytes: 1_000, txBytes: 1_000 }] },
    containers: [{ rootfs: { usedBytes: 4_096 } }],
    filler,
  }))
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify({ pods: described }))
}
