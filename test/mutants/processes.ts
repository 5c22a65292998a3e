import { at, faults } from "./mutant.ts"

const election = ["src/runs/supervision/supervisor-election.postgres.test.ts"]
const relay = ["src/files/relay/relay.test.ts"]
const sharedFiles = ["test/processes/files.docker.test.ts"]
const recovery = ["src/engine/docker/recovery.docker.test.ts"]

/** Several processes on one database: one supervises, and all learn what another one changed. */
export const processes = [
  ...faults("src/leases/lease.ts", election, [
    ["a former supervisor writes", at("HeldLease.assertHeldIn", "row?.token === this.#token"), "row"],
    ["a former supervisor renews its lease", at("HeldLease.#renew", "if (isHolder) "), ""],
    ["a lease is taken from a living process", at("LeaseWatch.isHeldByAnybody", "now - this.#seen.at <"), "this.#seen.at - now >"],
    ["a dead process keeps the lease", at("LeaseWatch.isHeldByAnybody", "now - this.#seen.at <"), "now - this.#seen.at > -"],
    ["a process that closes keeps the lease", at("HeldLease.[Symbol.asyncDispose]", "if (!wasHeld) return"), "return"],
  ]),
  ...faults("src/runs/supervision/row-follower.ts", election, [
    ["what other processes write is not read", at("RowFollower.#handle", 'notice.kind === "run"'), 'notice.kind === "people"'],
  ]),
  ...faults("src/runs/supervision/route-follower.ts", election, [
    ["a process that only follows has no addresses", at("RouteFollower.#update", "runCache.setAddress(run.id, address)"), ""],
  ]),
  ...faults("src/engine/docker/containers/run-starter.ts", recovery, [
    [
      "a replaced process removes the container of the next one",
      at("RunStarter.#undo", "if (this.#options.isLeader?.() === false) return"),
      "",
    ],
  ]),
  ...faults("src/runs/supervision/idle-questions.ts", election, [
    ["only the first message of an answer counts", at("IdleQuestions.#take", 'last === "end"'), "last"],
    ["idle runs are looked for where nobody supervises", at("IdleQuestions.find", "supervision && !supervision.ok"), "false"],
  ]),
  ...faults("src/runs/limits/idle-rule.ts", election, [
    ["other processes do not know when an idle run ends", at("IdleRule.isDue", "if (!isDue) await this.#storeEnd(run.id)"), ""],
  ]),
  ...faults("src/files/relay/relay.ts", relay, [
    ["the body of a DELETE becomes a request", at("FilesRelay.#headersFor", '{ "transfer-encoding": "chunked" }'), "{}"],
    [
      "a client signs its own address",
      at("FilesRelay.#headersFor", "[relayHeader]:"),
      "[request.headers[relayHeader] ? 'x' : relayHeader]:",
    ],
    ["a client that leaves is not noticed", at("FilesRelay.#connect", 'response.once("close", () => forwarded.destroy())'), ""],
    ["a client waits for 100 Continue in vain", at("FilesRelay.#connect", 'forwarded.on("continue", () => response.writeContinue())'), ""],
    [
      "downloads that a process passes on delay everybody",
      at("FilesRelay.#answer", "pipePaced(answer, response, owner)"),
      "answer.pipe(response)",
    ],
    [
      "uploads that a process passes on delay everybody",
      at("FilesRelay.#connect", "stopBody = pipePaced(request, forwarded, owner)"),
      "request.pipe(forwarded)",
    ],
    [
      "one person's requests are all passed on at once",
      at("FilesRelay.#handle", "await waitForTurn(owner, { length: openingBytes }, request)"),
      "",
    ],
    ["a crowd occupies all that a process passes on", at("FilesRelay.constructor", ".max / 2"), ".max / 40"],
    ["strangers close uploads that are passed on", at("FilesRelay.#findOwner", "!assignConnection(request.socket, found.userId)"), "false"],
  ]),
  ...faults("src/http/connections/connection-limiter.ts", relay, [
    ["all that is passed on counts for one address", at("Connection.begin", "relayedAddress?.(request) ?? "), ""],
  ]),
  ...faults(
    "src/main/health/readiness.ts",
    ["src/main/health/readiness.test.ts"],
    [["each question whether the server is ready starts programs", at("createReadiness", "if (last && isCurrent) return last.answer"), ""]],
  ),
  ...faults("src/files/relay/relayed-address.ts", relay, [
    ["any address is believed", at("relayedAddress", "signer.verify(given)"), "JSON.parse(Buffer.from(given, 'base64url').toString())"],
  ]),
  ...faults("src/files/process/file-server.ts", relay, [
    ["a process that stood still goes on", at("FileServer.constructor", "settings.sharing !== undefined &&"), "false &&"],
  ]),
  ...faults("src/main/shared-files.ts", sharedFiles, [
    ["a process that lost the files keeps them", at("SharedFiles.#serveUntilLost", "await this.#replaceCurrent(undefined)"), ""],
  ]),
  ...faults("src/engine/docker/docker-engine.ts", recovery, [
    ["a process that only follows releases pins", at("DockerEngine.#observe", "this.#options.isLeader?.() === false"), "false"],
  ]),
  ...faults(
    "src/access/passwords/throttle.ts",
    ["src/access/passwords/shared-attempts.postgres.test.ts"],
    [["each process counts wrong passwords by itself", at("PasswordThrottle.#recordOwn", "this.#shared?.tell(outcome)"), ""]],
  ),
  ...faults(
    "src/files/access/rights-cache.ts",
    ["test/processes/queries.docker.test.ts"],
    [["every request to the files asks the database", at("RightsCache.constructor", "options.ttlMs ?? 2_000"), "0"]],
  ),
  ...faults(
    "src/main/health/readiness.ts",
    ["test/processes/network.docker.test.ts"],
    [["a probe waits for a database that was cut off", at("inTime", "await abortable(check, signal)"), "await check"]],
  ),
  ...faults(
    "src/engine/docker/client/docker-api.ts",
    ["src/engine/create-engine.test.ts"],
    [["each process loads gRPC", at("loadDockerApi", 'import("dockerode/lib/image.js")'), 'import("dockerode") as never']],
  ),
  ...faults(
    "src/store/migrations/0016-roles.ts",
    ["src/store/postgres/notices.postgres.test.ts"],
    [
      ["a new member of a group is not told", at("notices", "after insert or delete on group_members"), "after delete on group_members"],
      ["a disabled person is not told", at("notices", "after update on users"), "after delete on users"],
    ],
  ),
]
