// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what stands in other files is plain text here

import { faults } from "./mutant.ts"

const policy = ["src/access/policy/policy.test.ts"]
const identity = ["accounts/accounts", "credentials/credentials", "credentials/revocation", "credentials/tokens", "passwords/sign-in"].map(
  (name) => `src/access/${name}.integration.test.ts`,
)
const throttle = ["src/access/passwords/throttle.test.ts"]
const paths = ["src/access/policy/file-access.integration.test.ts"]
const grants = ["test/api/grants.test.ts"]

/** Every rule of who somebody is and what they may do, taken out one at a time. */
export const rights = [
  ...faults("src/projects/grants.ts", grants, [
    ["a grant reveals whether a user name exists", "user.deletedAt === null && isKnown)", "user.deletedAt === null)"],
  ]),
  ...faults("src/access/policy/policy.ts", policy, [
    ["a deleted object is found", "  if (resource.deleted && !right.deleted) return false\n", ""],
    ["a published object is visible to its owner only", "if (resource.published || ", "if ("],
    ["a group's objects are visible to everybody", "(resource.groupId && actor.groupIds.includes(resource.groupId))", "resource.groupId"],
    ["a grant to one person is everybody's", "return grant.userId === actor.userId", "return true"],
    [
      "a grant to one group is every group's",
      "return grant.groupId === undefined || actor.groupIds.includes(grant.groupId)",
      "return true",
    ],
    [
      "everybody owns the project of every run",
      "if (resource.projectOwnerId === actor.userId)",
      "if (resource.projectOwnerId !== undefined)",
    ],
    ["administrators are nobody", "if (actor.isAdmin) relation |= is.administrator\n", ""],
    ["everybody administers", "if (actor.isAdmin) relation |= is.administrator", "relation |= is.administrator"],
    ["everything belongs to everybody", "if (resource.ownerId === actor.userId)", "if (resource.ownerId !== undefined)"],
    ["every grant writes", "relation |= is[grant.access]", "relation |= is.write"],
    ["what no one could do is looked up", "return actor.isAdmin || who.some(", "return true || who.some("],
    ["a token for a run does everything with it", '(action !== "run:open" || (resource', "(false || (resource"],
  ]),
  ...faults("src/access/policy/rights.ts", policy, [
    [
      "the right to read allows using an image",
      'use: write("owner", "write", "use", "administrator"),',
      'use: write("owner", "write", "use", "read", "administrator"),',
    ],
    [
      "the right to read allows starting a project",
      'start: write("owner", "write", "use", "administrator"),',
      'start: write("owner", "write", "use", "read", "administrator"),',
    ],
    [
      "the right to use a dataset allows writing its files",
      'writeFiles: write("owner", "write", "administrator"),',
      'writeFiles: write("owner", "write", "use", "administrator"),',
    ],
    [
      "the right to write a dataset's files allows changing the dataset",
      '    ...shared,\n    change: write("owner", "administrator"),',
      "    ...shared,",
    ],
    [
      "administrators read the output of everybody's runs",
      'logs: read("owner", "write"),',
      'logs: read("owner", "write", "administrator"),',
    ],
    [
      "administrators open everybody's runs",
      'open: write("owner", "write", "use"),',
      'open: write("owner", "write", "use", "administrator"),',
    ],
    ["a token that reads opens runs", 'open: write("owner", "write", "use"),', 'open: read("owner", "write", "use"),'],
    [
      "the right to use a run allows stopping it",
      'stop: write("owner", "write", "administrator"),',
      'stop: write("owner", "write", "use", "administrator"),',
    ],
    [
      "a project's owner reads all of others' runs",
      'details: read("owner", "write", "use", "read", "administrator"),',
      'details: read("owner", "write", "use", "read", "projectOwner", "administrator"),',
    ],
    ["a run is repeated by others", 'repeat: write("owner"),', 'repeat: write("owner", "write"),'],
    ["everybody reads the audit", 'audit: { list: read("administrator") },', 'audit: { list: read("anyone") },'],
    [
      "the right to change an object allows publishing it",
      'publish: write("owner", "administrator"),',
      'publish: write("owner", "write", "administrator"),',
    ],
    [
      "the right to change an object allows deleting it",
      '  delete: write("owner", "administrator"),\n  restore',
      '  delete: write("owner", "write", "administrator"),\n  restore',
    ],
    [
      "the right to change an object allows granting it",
      '  grant: write("owner", "administrator"),\n  transferOwnership',
      '  grant: write("owner", "write", "administrator"),\n  transferOwnership',
    ],
  ]),
  ...faults("src/access/policy/load-grants.ts", grants, [
    ["grants are never asked for", "  if (!first) return [...asked.resources]\n", "  if (asked) return [...asked.resources]\n"],
    [
      "every grant that is read is one to write",
      "own.map(({ access }): Grant => ({ access, userId",
      'own.map(({ access: _ }): Grant => ({ access: "write", userId',
    ],
  ]),
  ...faults("src/store/repositories/grants.ts", grants, [
    ["grants to a group have no effect", "user_id: userId, groups: groupIds, now", "user_id: userId, groups: [], now"],
    [
      "the expiry of a grant sends no event",
      "return (await session.first(q.expired, { now: clock.now(), limit: 1 })) !== undefined",
      "return false",
    ],
  ]),
  ...faults("src/access/credentials/authenticator.ts", identity, [
    ["a token goes with any name", "if (userName !== undefined && (await", "if (userName === null && (await"],
    [
      "a run's token opens files",
      'if (caller instanceof Refusal || caller.scopes.includes("read")) return caller',
      "if (caller !== undefined) return caller",
    ],
    [
      "a token for files opens the API",
      'if (credentials.scheme === "files") return invalidCredentials()',
      'if (credentials.scheme === "files") return (await this.#byFilesToken(authorization)) ?? invalidCredentials()',
    ],
    ["a right password is right for ever", "right.until <= this.#context.clock.now()) return", "right.until < 0) return"],
  ]),
  ...faults("src/access/credentials/caller-cache.ts", identity, [
    ["cached credentials outlive their end", "this.#callers.deleteWhere((cached) => userIds.has(cached.caller.userId))", "void userIds"],
  ]),
  ...faults("src/access/credentials/load-caller.ts", identity, [
    ["a disabled person signs in", "!user || !isActiveUser(user) || !pass", "!user || !pass"],
    ["the old password still works", " || !passwordIsCurrent(credentialId, user)) return", ") return"],
    ["a token never ends", "(row.expiresAt !== null && row.expiresAt <= now)", "false"],
    ["a session never ends", "row?.userId === userId && row.expiresAt > now ?", "row?.userId === userId ?"],
    ["a token for files never ends", "    if (!(Number(expires) > now)) return undefined\n", ""],
    ["a proof is recalled by anybody", "if (row?.userId !== userId || (row", "if (!row || (row"],
  ]),
  ...faults(
    "src/access/credentials/caller-cache.ts",
    ["src/access/credentials/caller-cache.test.ts"],
    [
      [
        "what was read before an end is remembered after it",
        "if (before === this.#invalidations) this",
        "if (before <= this.#invalidations) this",
      ],
      [
        "a cached person is never read again",
        "cached !== undefined && cached.validUntil > this.#clock.now() ? cached",
        "cached !== undefined ? cached",
      ],
    ],
  ),
  ...faults("src/access/credentials/sessions.ts", identity, [
    ["the browser's previous session stays valid", "if (previous !== undefined) await end(tx, previous)\n", ""],
    ["a person disabled meanwhile gets a session", "if (!(await loadCaller(", "if (false && !(await loadCaller("],
    [
      "a session that was ended is remembered",
      "    await tx.sessions.delete(row.hash)\n    invalidateAfterCommit(tx, row.userId)",
      "    await tx.sessions.delete(row.hash)",
    ],
    [
      "sessions that were ended are remembered",
      "      await tx.sessions.deleteOfUser(userId)\n      invalidateAfterCommit(tx, userId)",
      "      await tx.sessions.deleteOfUser(userId)",
    ],
  ]),
  ...faults("src/access/credentials/tokens.ts", identity, [
    ["anybody deletes anybody's token", "if (row?.userId !== caller.userId) throw", "if (!row) throw"],
    ["a token makes one that outlives it", "(wanted.expiresAt ?? Number.POSITIVE_INFINITY) > own.validUntil", "false"],
    [
      "a token that reads makes one that writes",
      "      checkExpiry(wanted.expiresAt, clock.now())\n      assertCanWrite(caller)",
      "      checkExpiry(wanted.expiresAt, clock.now())",
    ],
    [
      "a token that reads deletes others",
      "    async delete(tx, caller, id) {\n      assertCanWrite(caller)",
      "    async delete(tx, caller, id) {",
    ],
    ["a person disabled meanwhile gets a token", "if (!own) throw new Failure", "if (own === null) throw new Failure"],
  ]),
  ...faults("src/access/accounts/accounts.ts", identity, [
    ["nobody is left to administer", "if (losesAdministrator) await assertOtherAdministrator(tx, before)\n", ""],
    ["a disabled person's tokens come back with them", "      if (fields.isDisabled === true) await endCredentials(tx, id)\n", ""],
    [
      "a new password leaves sessions open",
      "if (fields.passwordHash !== undefined) await tx",
      "if (fields.passwordHash === null) await tx",
    ],
  ]),
  ...faults("src/access/passwords/throttle.ts", throttle, [
    ["a name may be guessed from one address", "const perPair = wrongPerNameAndAddress.value", "const perPair = 10_000"],
    ["an address may guess", "const perAddress = wrongPerAddress.value", "const perAddress = 60_000"],
    ["a name that is guessed from everywhere is not slowed", "step: wrongPerNameStepMs.value", "step: 0"],
    ["a name that is guessed from everywhere is shut", "most: wrongPerNameMaxMs.value", "most: 2_000_000"],
    ["a right password forgives the address", "this.#pairs.delete(pair)", "this.#addresses.delete(from)"],
  ]),
  ...faults("src/kit/ip-address.ts", throttle, [["each address of a network guesses for itself", ".slice(0, 4)\n", ".slice(0, 8)\n"]]),
  ...faults("src/access/passwords/password-checker.ts", identity, [
    ["guesses that come at once all count as one", "begin: () => attempt.assertAllowed(),", "begin: () => {},"],
    [
      "an unknown user name is rejected without a hash",
      "const right = await this.#hasher.verify(",
      "const right = user?.passwordHash != null && await this.#hasher.verify(",
    ],
    ["a disabled person's right password is no failure", "(fits && live ? attempt", "(fits ? attempt"],
  ]),
  ...faults(
    "src/access/credentials/authorization-header.ts",
    ["src/access/credentials/authorization-header.test.ts"],
    [["of two Authorization headers one counts", "if (found !== undefined) return new Refusal", "if (found === null) return new Refusal"]],
  ),
  ...faults("src/access/credentials/files-token.ts", identity, [
    ["anybody signs tokens for files", "given.length !== right.length || !timingSafeEqual(given, right)", "given.length !== right.length"],
  ]),
  ...faults("src/access/policy/file-access.ts", paths, [
    ["a token for a run opens homes", "if (scopedRunId(caller) !== undefined) return", "if (paths.length === 0) return"],
    ["a token that reads writes files", 'return caller.scopes.includes("write") ? "write" : "read"', 'return "write"'],
    ["a home whose name begins alike is one's own", "isAdmin || isBeneath(path, home)", "isAdmin || path.startsWith(home)"],
    ["a dataset's own directory is moved away", "if (datasets.some((dataset) => dataset.path === path)) return false\n", ""],
    [
      "the right to read a dataset allows writing into it",
      'can(caller, "data:writeFiles", resource) === "yes") return "rw"',
      'can(caller, "data:readFiles", resource) === "yes") return "rw"',
    ],
  ]),
  ...faults(
    "src/store/repositories/grants.ts",
    ["test/access/matrix.test.ts"],
    [
      [
        "a grant counts when its time is over",
        "user_id: userId, groups: groupIds, now: clock.now() }",
        "user_id: userId, groups: groupIds, now: 0 }",
      ],
    ],
  ),
]
