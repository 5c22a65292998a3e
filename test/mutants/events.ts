import { faults } from "./mutant.ts"

const connections = ["test/api/event-connections.test.ts"]

/** Who is told what happens, and over what. */
export const events = [
  ...faults("src/api/http/event-stream.ts", connections, [
    ["a stream keeps its request and response", '  response.emit("finish")\n', ""],
    ["a stream's end is not counted", '  socket.on("close", over)\n', ""],
    [
      "who sends more on a stream goes on",
      '  socket.setTimeout(0)\n  socket.on("data", destroy)',
      '  socket.setTimeout(0)\n  socket.on("data", nothing)',
    ],
  ]),
  ...faults("src/api/http/in-turn.ts", connections, [["a stream is over twice", "    this.#isKept = true\n", ""]]),
]
