import { test } from "node:test"
import { setImmediate } from "node:timers/promises"
import { Multiplexer } from "#channel"
import type { ExecOutput, ExecProcess } from "#engine"
import { countTurns } from "../../../test/fixtures/turns.ts"
import type { ConnectionContext } from "../context.ts"
import { serveCopy } from "./copy.ts"

test("what an image's program prints while it receives a copy counts against the budget of a turn", async (t) => {
  const data = Buffer.alloc(65_536)
  async function* output(): AsyncGenerator<ExecOutput> {
    for (let i = 0; i < 40; i += 1) {
      await setImmediate()
      yield { stream: i % 2 === 0 ? "stdout" : "stderr", data }
    }
  }
  const program: Partial<ExecProcess> = {
    output: output(),
    exitCode: Promise.resolve(0),
    endInput: () => {},
    close: async () => {},
  }
  const context = {
    usage: { addCopy: () => ({ [Symbol.dispose]() {} }), addWideWindow: () => undefined },
    limits: { recordProgram: (record: () => Promise<void>) => record() },
    store: { change: async () => {} },
    engine: { exec: async () => program },
    caller: { userId: 7, userName: "ann" },
    run: { key: "key" },
  } as unknown as ConnectionContext
  const transport = { send: () => {}, isCongested: false, close: () => {} }
  const stream = new Multiplexer({ transport, side: "server" }).open("copy")
  stream.receiveEnd()
  const turns = countTurns(t, 7)
  await serveCopy(context, stream, { direction: "in", path: "/file", offset: 0 })
  turns.assertMoved(40 * data.length)
})
