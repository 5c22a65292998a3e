import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { PulledImage } from "../stored-images.ts"
import { testEngineConformance } from "../testing/conformance.ts"
import { FakeDaemon } from "./fake-daemon.ts"
import { FakeEngine } from "./fake-engine.ts"

testEngineConformance("fake", async () => {
  const pulls: PulledImage[] = []
  const daemon = await FakeDaemon.open()
  const filesRoot = await mkdtemp(join(tmpdir(), "quayside-fake-"))
  await mkdir(join(filesRoot, "data"))
  return {
    engine: new FakeEngine({ daemon, instance: "one", filesRoot, mockGpus: 2, onPull: async (pulled) => void pulls.push(pulled) }),
    pulls,
    reopen: async () => new FakeEngine({ daemon, instance: "one", filesRoot }),
    openOtherInstance: async () => new FakeEngine({ daemon, instance: "two", filesRoot }),
    images: {
      serves: { image: "fake/http" },
      exits: { image: "fake/exits:3" },
      oom: { image: "fake/oom" },
      noPort: { image: "fake/no-port" },
      stubborn: { image: "fake/stubborn" },
      missing: { image: "fake/missing" },
      noCommand: { image: "fake/no-command" },
      remote: { image: "fake/busy" },
    },
    localImage: "fake/built",
    source: "/data",
    async [Symbol.asyncDispose]() {
      await daemon[Symbol.asyncDispose]()
      await rm(filesRoot, { recursive: true })
    },
  }
})
