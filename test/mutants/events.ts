import { faults } from "./mutant.ts"

const connections = ["test/api/event-connections.test.ts"]

const told = ["test/access/events.test.ts"]

/** Who is told what happens, and over what. */
export const events = [
  ...faults("src/api/events/feed-policy.ts", told, [
    ["losing access to an object sends no event", 'to || (was && isAllowed(caller, was, "read")) ? "gone"', 'to ? "gone"'],
    [
      "people who lost access still receive events",
      'if (now && isAllowed(caller, now, "read"))',
      'if (now && may(caller, was ?? now, "read"))',
    ],
    [
      "the project's owner receives the reason why a run ended",
      'if (isAllowed(caller, run, "details")) return "whole"',
      'if (run) return "whole"',
    ],
    ["the project's owner receives the progress of a run", 'row.event === "run.progress" || ', ""],
    ["everybody receives the events of a grant", 'if (to && !to.includes(caller.userId)) return "none"', ""],
    ["a grantee is told what others of the same groups are", "if (userId !== undefined) yield userId", ""],
    ["an owner is told what others of the same groups are", "if (resource?.ownerId !== undefined) yield resource.ownerId", ""],
    ["members of a group are told what others are", '[...groupIds].sort().join(" ") + scopes.join()', "scopes.join()"],
    ["who is to be told of a group's things is told what others are", "if (to) yield* to", ""],
  ]),
  ...faults(
    "src/events/feed.ts",
    ["src/events/feed.test.ts"],
    [
      ["a reader who does not read its replay stays connected", "if (late.aborted) stream.evict()", ""],
      [
        "a reader who does not read its replay blocks others",
        "      await this.#replaySlots.run(() => this.#replay(subscription, stream))\n",
        "      await this.#replaySlots.run(async () => {\n        await this.#replay(subscription, stream)\n        await stream.sink.drained(new AbortController().signal)\n      })\n",
      ],
    ],
  ),
  ...faults(
    "src/events/feed.ts",
    ["test/api/event-replay.test.ts"],
    [
      ["a reader who reconnects misses an event", "isGap ? last : after)", "isGap ? last : after + 1)"],
      ["a reader who reconnects gets an event twice", "isGap ? last : after)", "isGap ? last : after - 1)"],
    ],
  ),
  ...faults(
    "src/api/pages/openid.ts",
    ["test/api/openid.test.ts"],
    [
      ["becoming an administrator through the provider sends no event", "if (isChanged) await events", "if (!isChanged) await events"],
      [
        "each sign-in by the provider resets streams",
        'else if (account === "linked" || isChanged) {',
        "else {\n    await events.everythingChanged(tx, [user.id])",
      ],
    ],
  ),
  ...faults("src/projects/group-members.ts", told, [
    [
      "somebody who leaves a group still sees its projects",
      "await publishMemberVisibility(events, tx,",
      "if (before.length < 0) await publishMemberVisibility(events, tx,",
    ],
  ]),
  ...faults("src/api/http/event-stream.ts", connections, [
    ["a stream keeps its request and response", '  response.emit("finish")\n', ""],
    ["a stream's end is not counted", '  socket.on("close", onDone)\n', ""],
    [
      "extra bytes on an event stream do not close it",
      '  socket.setTimeout(0)\n  socket.on("data", destroy)',
      '  socket.setTimeout(0)\n  socket.on("data", nothing)',
    ],
  ]),
  ...faults("src/http/connections/pipelining.ts", connections, [["a stream is over twice", "    this.#isDetached = true\n", ""]]),
]
