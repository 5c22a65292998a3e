import { at, faults } from "./mutant.ts"

const connections = ["test/api/event-connections.test.ts"]

const receivers = ["src/api/events/feed-policy.test.ts", "test/access/events.test.ts"]

/** Recipients of events, and the streams to them. */
export const events = [
  ...faults(
    "src/events/journal-pruner.ts",
    ["src/events/journal-pruner.test.ts"],
    [["the journal has any number of bytes", at("JournalPruner.#lastIdBeyondBytes", "bytes > this.#options.maxBytes"), "bytes < 0"]],
  ),
  ...faults(
    "src/store/repositories/journal-and-audit.ts",
    ["src/events/feed.test.ts"],
    [
      [
        "one row that the store cannot read stops everybody's events",
        at("toJournal", "return readJournal(values)"),
        "return readJournal(values.slice(0, 5))",
      ],
    ],
  ),
  ...faults(
    "src/api/handlers/resources/owned-resource.ts",
    ["test/api/events.test.ts"],
    [["an event has the grants of any number of people", at("withFewGrants", "grants.length <= maxGrantsInEvent"), "grants.length >= 0"]],
  ),
  ...faults(
    "src/api/events/load-resources.ts",
    ["src/api/events/load-resources.test.ts"],
    [["events read all texts of what they are about", at("loader", ".rights(ids)\n"), ".getMany(ids)\n"]],
  ),
  ...faults("src/api/events/feed-policy.ts", receivers, [
    ["losing access to an object sends no event", at("visibilityOf", '|| (was && isAllowed(caller, was, "read"))'), ""],
    ["people who lost access still receive events", at("visibilityOf", "now && isAllowed(caller,"), "now && isAllowed(caller, was ??"],
    ["the project's owner receives the reason why a run ended", at("runVisibility", 'isAllowed(caller, run, "details")'), "run"],
    ["the project's owner receives the progress of a run", at("runVisibility", 'row.event === "run.progress" ||'), ""],
    [
      "everybody receives the events of a grant",
      at("visibilityOf", 'if (to && !to.includes(caller.userId) && !(toAdministrators && caller.isAdmin)) return "none"'),
      "",
    ],
    ["a grantee is told what others of the same groups are", at("affectedUsers", "if (userId !== undefined) yield userId"), ""],
    [
      "an owner is told what others of the same groups are",
      at("affectedUsers", "if (resource.ownerId !== undefined) yield resource.ownerId"),
      "",
    ],
    ["members of a group are told what others are", at("createFeedPolicy.audienceOf"), '(isAdmin ? "administrator" : scopes.join())'],
    ["who is to be told of a group's things is told what others are", at("affectedUsers", "if (to) yield* to"), ""],
  ]),
  ...faults(
    "src/events/feed.ts",
    ["src/events/feed.test.ts"],
    [
      ["a reader who does not read its replay stays connected", at("EventFeed.#catchUp", "if (late.aborted) stream.evict()"), ""],
      [
        "a reader who does not read its replay blocks others",
        at("EventFeed.#catchUp", "() => this.#replay(subscription, stream)"),
        "async () => {\n        await this.#replay(subscription, stream)\n        await stream.sink.drained(new AbortController().signal)\n      }",
      ],
    ],
  ),
  ...faults(
    "src/kit/queues/heavy-work-queue.ts",
    ["src/kit/queues/heavy-work-queue.test.ts"],
    [
      ["one person's heavy work delays another's", at("HeavyWorkQueue.run", "    await previous\n"), ""],
      ["heavy work delays all requests", at("HeavyWorkQueue.run", "    await sharedScheduler.waitForNextSlot(userId)\n"), ""],
    ],
  ),
  ...faults(
    "src/api/events/feed-policy.ts",
    ["src/api/events/feed-policy.test.ts"],
    [["the grantees of a resource are counted for each of its events", at("affectedUsers", "known.add(resource)"), ""]],
  ),
  ...faults(
    "src/events/event-batch.ts",
    ["src/events/feed.test.ts"],
    [
      [
        "one row that the policy cannot judge stops everybody's events",
        at("EventBatch.#unlessSkipped", "return otherwise\n    }"),
        "throw error\n    }",
      ],
    ],
  ),
  ...faults(
    "src/api/pages/openid.ts",
    ["test/attacks/openid.test.ts"],
    [
      [
        "a crowd has the provider check any number of codes",
        at("callback", "callbacks.run(networkOf(request.actor.address), () => allCallbacks.run(finish))"),
        "finish()",
      ],
    ],
  ),
  ...faults(
    "src/events/feed.ts",
    ["test/api/event-replay.test.ts"],
    [
      ["a reader who reconnects misses an event", at("EventFeed.open", "isGap ? last : after)"), "isGap ? last : after + 1)"],
      ["a reader who reconnects gets an event twice", at("EventFeed.open", "isGap ? last : after)"), "isGap ? last : after - 1)"],
    ],
  ),
  ...faults(
    "src/api/pages/openid.ts",
    ["test/api/openid.test.ts"],
    [
      [
        "becoming an administrator through the provider sends no event",
        at("publishAccountChange", "if (isChanged) await events"),
        "if (!isChanged) await events",
      ],
      [
        "each sign-in by the provider resets streams",
        at("publishAccountChange", 'if (account === "linked" || isChanged) {'),
        "{\n    await events.everythingChanged(tx, [user.id])",
      ],
    ],
  ),
  ...faults(
    "src/projects/group-members.ts",
    ["test/access/events.test.ts"],
    [
      [
        "somebody who leaves a group still sees its projects",
        at("publishGroupChange", "await publishMemberVisibility"),
        "if (before.length < 0) await publishMemberVisibility",
      ],
    ],
  ),
  ...faults("src/http/responses/event-stream.ts", connections, [
    ["a stream's end is not counted", at("detach", 'socket.on("close", onDone)'), ""],
  ]),
  ...faults("src/http/node/detach-socket.ts", connections, [
    ["a stream keeps its request and response", at("detachSocket", 'response.emit("finish")'), ""],
    [
      "extra bytes on an event stream do not close it",
      at("detachSocket", ')\n  socket.on("data", onData'),
      ')\n  socket.on("data", () => {}',
    ],
  ]),
  ...faults("src/http/connections/pipelining.ts", connections, [
    ["a stream is over twice", at("RequestQueue.detach", "this.#isDetached = true"), ""],
  ]),
]
