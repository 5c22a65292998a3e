import { at, faults } from "./mutant.ts"

const turns = ["src/runs/supervision/turns.postgres.test.ts"]
const recovery = ["src/engine/docker/recovery.docker.test.ts"]

/** Several processes on one database: one supervises, and all learn what another one changed. */
export const processes = [
  ...faults("src/runs/supervision/lease.ts", turns, [
    ["a former supervisor writes", at("HeldLease.assertHeldIn", "row?.token === this.#token && this.isHeld()"), "row"],
    ["beats of a former supervisor count", at("HeldLease.#beat", "if (isKnown) "), ""],
    ["a lease is taken from a living process", at("LeaseWatch.isHeldByAnybody", "now - this.#seen.at <"), "this.#seen.at - now >"],
    ["a dead process keeps the lease", at("LeaseWatch.isHeldByAnybody", "now - this.#seen.at <"), "now - this.#seen.at > -"],
    ["a process that closes keeps the lease", at("HeldLease.[Symbol.asyncDispose]", "if (!wasHeld) return"), "return"],
  ]),
  ...faults("src/runs/supervision/row-follower.ts", turns, [
    ["what other processes write is not read", at("RowFollower.#handle", 'notice.kind === "run"'), 'notice.kind === "people"'],
  ]),
  ...faults("src/runs/supervision/route-keeper.ts", turns, [
    ["a process that only follows has no addresses", at("RouteKeeper.#update", "!runCache.target(run.id)?.address"), "false"],
  ]),
  ...faults("src/engine/docker/containers/run-starter.ts", recovery, [
    [
      "a replaced process removes the container of the next one",
      at("RunStarter.#undo", "if (this.#options.isInCharge?.() === false) return"),
      "",
    ],
  ]),
  ...faults("src/engine/docker/docker-engine.ts", recovery, [
    ["a process that only follows releases pins", at("DockerEngine.#observe", "this.#options.isInCharge?.() === false"), "false"],
  ]),
  ...faults(
    "src/access/passwords/throttle.ts",
    ["src/access/passwords/shared-attempts.postgres.test.ts"],
    [["each process counts wrong passwords by itself", at("PasswordThrottle.#recordOwn", "this.#shared?.tell(outcome)"), ""]],
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
