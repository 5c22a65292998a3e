import { after, test } from "node:test"
import { startRegistry } from "../fixtures/docker/registry.ts"
import { startFaultServer } from "./fault-server.ts"

const rig = await startFaultServer({})
after(() => rig[Symbol.asyncDispose]())

test("a registry that stays down in the middle of an image ends the start once the daemon gives up", async () => {
  const failing = await startRegistry()
  const run = await rig.start({
    name: "registry down",
    image: `${failing.host}/stuck/image`,
    progress: /broke off; trying again$/,
    code: "image_pull_failed",
    msg: new RegExp(`the registry ${failing.host} cannot be reached$`),
    hint: /can be reached/,
    withinS: 10,
  })
  await run.progress(/^downloading$/)
  await failing[Symbol.asyncDispose]()
  await run.check()
})
