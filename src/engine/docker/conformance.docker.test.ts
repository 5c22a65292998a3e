import { startDockerEngine } from "../../../test/fixtures/docker/docker-engine.ts"
import { startRegistry } from "../../../test/fixtures/docker/registry.ts"
import type { PulledImage } from "../stored-images.ts"
import { testEngineConformance } from "../testing/conformance.ts"

testEngineConformance("docker", async () => {
  const pulls: PulledImage[] = []
  const registry = await startRegistry()
  const rig = await startDockerEngine({ mockGpus: 2, onPull: async (pulled) => void pulls.push(pulled) })
  const { image } = rig
  const shell = (script: string) => ({ image, command: ["sh", "-c", script] })
  return {
    engine: rig.engine,
    pulls,
    reopen: () => rig.open(),
    openOtherInstance: () => rig.open({ instance: `${rig.instance}-other` }),
    images: {
      serves: shell("echo listening; exec httpd -f -p 8080 -h /www"),
      exits: shell("exit 3"),
      oom: { image, command: ["tail", "/dev/zero"] },
      noPort: { image, command: ["sleep", "1000"] },
      stubborn: shell("trap '' TERM; while :; do sleep 1; done"),
      missing: { image: `${registry.host}/none/none` },
      noCommand: { image, command: ["no-such-command"] },
      remote: { image: `${registry.host}/good/remote` },
    },
    localImage: image,
    source: await rig.directory("data"),
    async [Symbol.asyncDispose]() {
      await registry[Symbol.asyncDispose]()
      await rig[Symbol.asyncDispose]()
    },
  }
})
