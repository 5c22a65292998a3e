import { randomBytes } from "node:crypto"
import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ensureBusyboxImage } from "../../../test/fixtures/busybox.ts"
import { startRegistry } from "../../../test/fixtures/registry.ts"
import { conformance } from "../conformance.ts"
import { createDockerEngine } from "./engine.ts"
import { removeNetworks } from "./rig.ts"

conformance("docker", async () => {
  const image = await ensureBusyboxImage()
  const registry = await startRegistry()
  const folder = await mkdtemp(join(tmpdir(), "quayside-docker-"))
  const instance = `test-${randomBytes(4).toString("hex")}`
  const filesRoot = join(folder, "files")
  await mkdir(join(filesRoot, "data"), { recursive: true })
  const open = (name: string) => createDockerEngine({ instance: name, filesRoot, stagingDir: join(folder, `staging-${name}`), uid: 1000 })
  const shell = (script: string) => ({ image, command: ["sh", "-c", script] })
  return {
    engine: await open(instance),
    reopen: () => open(instance),
    stranger: () => open(`${instance}-other`),
    images: {
      serves: shell("echo listening; exec httpd -f -p 8080 -h /www"),
      exits: shell("exit 3"),
      oom: { image, command: ["tail", "/dev/zero"] },
      noPort: { image, command: ["sleep", "1000"] },
      stubborn: shell("trap '' TERM; while :; do sleep 1; done"),
      missing: { image: `${registry.host}/none/none` },
      noCommand: { image, command: ["no-such-command"] },
    },
    source: "/data",
    async [Symbol.asyncDispose]() {
      await registry[Symbol.asyncDispose]()
      await removeNetworks(instance)
      await rm(folder, { recursive: true })
    },
  }
})
