import { ensureBusyboxImage } from "../../../test/fixtures/docker/busybox.ts"
import { startKubernetesEngine } from "../../../test/fixtures/kubernetes/kubernetes-engine.ts"
import { loadCopy } from "../../../test/fixtures/kubernetes/loaded-image.ts"
import { testEngineConformance } from "../testing/conformance.ts"

testEngineConformance(
  "kubernetes",
  async () => {
    const cluster = await startKubernetesEngine()
    const { image, registry } = cluster
    const shell = (script: string) => ({ image, command: ["sh", "-c", script] })
    return {
      engine: cluster.engine,
      pulls: [],
      reopen: () => cluster.open(),
      openOtherInstance: () => cluster.open({ instance: `${cluster.instance}-other` }),
      images: {
        serves: shell("echo listening; exec httpd -f -p 8080 -h /www"),
        exits: shell("exit 3"),
        oom: { image, command: ["tail", "/dev/zero"] },
        noPort: { image, command: ["sleep", "1000"] },
        stubborn: shell("trap '' TERM; while :; do sleep 1; done"),
        missing: { image: `${registry.host}/none/none` },
        noCommand: { image, command: ["no-such-command"] },
        remote: { image },
      },
      localImage: await loadCopy(await ensureBusyboxImage()),
      source: await cluster.namespace.directory("data"),
      [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
    }
  },
  { isCluster: true },
)
