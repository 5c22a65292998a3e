// biome-ignore-all lint/suspicious/noTemplateCurlyInString: code of other files is plain text here

import { at, faults } from "./mutant.ts"

const policy = ["src/access/policy/policy.test.ts"]
const identity = ["accounts/accounts", "credentials/credentials", "credentials/revocation", "credentials/tokens", "passwords/sign-in"].map(
  (name) => `src/access/${name}.integration.test.ts`,
)
const throttle = ["src/access/passwords/throttle.test.ts"]
const paths = ["src/access/policy/file-access.integration.test.ts"]
const grants = ["test/api/grants.test.ts"]

/** Every rule of who somebody is and what they may do, taken out one at a time. */
export const rights = [
  ...faults(
    "src/projects/code/prepare-directories.ts",
    ["test/api/code.test.ts"],
    [
      [
        "a start copies code after the right to its project ended",
        at("copyRelease", "{ signal: allowed, onProgress"),
        "{ signal, onProgress",
      ],
    ],
  ),
  ...faults(
    "src/api/handlers/resources/project-update.ts",
    ["test/attacks/copies.test.ts"],
    [
      [
        "one person's releases of code all begin at once",
        at("releaseProject", "server.projectCopies.run(caller.userId, async () => {"),
        "(async (release: () => Promise<ProjectRow>) => server && release())(async () => {",
      ],
    ],
  ),
  ...faults(
    "src/api/handlers/resources/project-update.ts",
    ["test/api/code.test.ts"],
    [
      [
        "a copy of a project goes on after the right to it ended",
        at("copy", "objectLimits: server.objectLimits, signal })"),
        "objectLimits: server.objectLimits, signal: context.signal })",
      ],
      [
        "a release of code goes on after the right to it ended",
        at("releaseUntilRevoked", "{ stored, signal })"),
        "{ stored, signal: context.signal })",
      ],
    ],
  ),
  ...faults(
    "src/api/refresh-caller.ts",
    ["test/attacks/large-answers.test.ts"],
    [
      [
        "a large list goes on by the rights that its reader had at first",
        at("refreshCaller", "await services.identity.refreshCaller(caller.userId, caller.credential.id)"),
        "services && caller",
      ],
    ],
  ),
  ...faults(
    "src/api/handlers/runs/starts.ts",
    ["test/access/waiting-starts.test.ts"],
    [
      [
        "a start that waits outlasts its credential",
        at("respond", "isSettled ? await refreshCaller(context) : context.caller"),
        "context.caller",
      ],
    ],
  ),
  ...faults(
    "src/api/operation.ts",
    ["test/api/stale-rights.test.ts"],
    [
      [
        "a request goes on by the rights that its sender had before its body arrived",
        at("recheck", "await refreshCaller({ services, caller })"),
        "services && caller",
      ],
    ],
  ),
  ...faults(
    "src/api/handlers/runs/runs.ts",
    ["test/api/stale-rights.test.ts"],
    [
      [
        "an output that is read slowly outlasts the right to it",
        at("logs", 'abortOnRevocation(services, context, { action: "run:logs", resource })'),
        'follow ? abortOnRevocation(services, context, { action: "run:logs", resource }) : context.signal',
      ],
    ],
  ),
  ...faults(
    "src/api/with-change.ts",
    ["test/attacks/waiting-changes.test.ts"],
    [
      [
        "a change that waits outlasts the credential of its person",
        at("withFairChanges", "Object.assign(caller, await refreshCaller({ services, caller }))"),
        "",
      ],
      [
        "a change that waits is made by the groups that its person left",
        at("withFairChanges", "Object.assign(caller, await"),
        "Object.assign({}, await",
      ],
    ],
  ),
  ...faults(
    "src/api/handlers/runs/runs.ts",
    ["test/attacks/waiting-changes.test.ts"],
    [
      [
        "a stop that waits outlasts the right to the run",
        at("stop", 'changeOf(services, rightInChange(context, "run:stop", stopped))'),
        "changeOf(services)",
      ],
    ],
  ),
  ...faults(
    "src/api/handlers/runs/run-usage.ts",
    ["test/attacks/waiting-changes.test.ts"],
    [
      [
        "an extension that waits outlasts the right to the run",
        at("keepAlive", 'changeOf(services, rightInChange(context, "run:keep", run))'),
        "changeOf(services)",
      ],
    ],
  ),
  ...faults(
    "src/main/run-directory.ts",
    ["src/main/reading-people.test.ts"],
    [
      [
        "one person's tickets are used before everybody's changes",
        at("createRunDirectory", "claims.run(userId, () => store.change((tx) => tx.proofs.use(ticket), { urgent: true }))"),
        "store.change((tx) => tx.proofs.use(ticket), { urgent: userId > 0 })",
      ],
    ],
  ),
  ...faults(
    "src/api/control.ts",
    ["test/attacks/changes.test.ts"],
    [["one person's programs are recorded before everybody's changes", at("limitsOf", "state().changes.run(userId, record)"), "record()"]],
  ),
  ...faults(
    "src/api/handlers/resources/owned-resource.ts",
    ["src/api/handlers/resources/owned-resource.test.ts"],
    [
      [
        "what a search found is answered by the rights that its reader had at first",
        at("readResource", "readResourceById(kind, context, row.id, await refreshCaller(context))"),
        "respondWithETag(kind, context, row)",
      ],
    ],
  ),
  ...faults("src/projects/grants.ts", grants, [
    [
      "a grant reveals whether a user name exists",
      at("resolveKnownPerson", "user.deletedAt === null && isKnown)"),
      "user.deletedAt === null)",
    ],
  ]),
  ...faults("src/access/policy/policy.ts", policy, [
    ["a deleted object is found", at("isVisible", "if (resource.deleted && !right.deleted) return false"), ""],
    ["a published object is visible to its owner only", at("relationBitsOf", "if (resource.published || "), "if ("],
    [
      "a group's objects are visible to everybody",
      at("relationBitsOf", "(resource.groupId && actor.groupIds.includes(resource.groupId))"),
      "resource.groupId",
    ],
    ["a grant to one person applies to everybody", at("appliesTo", "return grant.userId === actor.userId"), "return true"],
    [
      "a grant to one group applies to every group",
      at("appliesTo", "grant.groupId === undefined || actor.groupIds.includes(grant.groupId)"),
      "true",
    ],
    ["everybody owns the project of every run", at("relationBitsOf", "projectOwnerId === actor.userId"), "projectOwnerId !== undefined"],
    ["administrators have no rights of their own", at("relationBitsOf", "if (actor.isAdmin) relation |= is.administrator"), ""],
    ["everybody administers", at("relationBitsOf", "if (actor.isAdmin)"), ""],
    [
      "everything belongs to everybody",
      at("relationBitsOf", "if (resource.ownerId === actor.userId)"),
      "if (resource.ownerId !== undefined)",
    ],
    ["every grant writes", at("relationBitsOf", "relation |= is[grant.access]"), "relation |= is.write"],
    [
      "grants are loaded for actions that nobody is allowed",
      at("isAttainable"),
      'return true || who.some((relation) => relation !== "administrator")',
    ],
    ["a token for a run does everything with it", at("can", '(action !== "run:open" || (resource'), "(false || (resource"],
  ]),
  ...faults("src/access/policy/rights.ts", policy, [
    [
      "the right to read allows using an image",
      at("rights.image", 'use: write("owner", "write", "use"'),
      'use: write("owner", "write", "use", "read"',
    ],
    [
      "the right to read allows starting a project",
      at("rights.project", 'start: write("owner", "write", "use"'),
      'start: write("owner", "write", "use", "read"',
    ],
    ["the right to use a dataset allows writing its files", at("rights.data", 'write("owner", "write"'), 'write("owner", "write", "use"'],
    [
      "the right to write a dataset's files allows changing the dataset",
      at("rights.data", ',\n    change: write("owner", "administrator")'),
      "",
    ],
    ["administrators read the output of everybody's runs", at("rights.run.logs"), 'read("owner", "write", "administrator")'],
    ["administrators open everybody's runs", at("rights.run.open"), 'write("owner", "write", "use", "administrator")'],
    ["a read-only token opens runs", at("rights.run.open"), 'read("owner", "write", "use")'],
    ["the right to use a run allows stopping it", at("rights.run", 'stop: write("owner", "write"'), 'stop: write("owner", "write", "use"'],
    [
      "a project's owner reads all of others' runs",
      at("rights.run", 'details: read("owner", "write", "use", "read"'),
      'details: read("owner", "write", "use", "read", "projectOwner"',
    ],
    ["a run is repeated by others", at("rights.run.repeat"), 'write("owner", "write")'],
    ["everybody reads the audit", at("rights.audit"), '{ list: read("anyone") }'],
    ["the right to change an object allows publishing it", at("shared", 'publish: write("owner"'), 'publish: write("owner", "write"'],
    ["the right to change an object allows deleting it", at("shared", 'delete: write("owner"'), 'delete: write("owner", "write"'],
    ["the right to change an object allows granting it", at("shared", 'grant: write("owner"'), 'grant: write("owner", "write"'],
  ]),
  ...faults("src/access/policy/load-grants.ts", grants, [
    ["grants are never loaded", at("loadGrants", "!first"), "asked"],
    ["every loaded grant allows writing", at("loadGrants", " }): PolicyGrant => ({ access"), ': _ }): PolicyGrant => ({ access: "write"'],
  ]),
  ...faults("src/store/repositories/grants.ts", grants, [
    [
      "grants to a group have no effect",
      at("GrantRepository.accessFor", "user_id: userId, groups: groupIds, now"),
      "user_id: userId, groups: [], now",
    ],
    [
      "the expiry of a grant sends no event",
      at("GrantRepository.anyExpired", "(await runner.first(q.expired, { now: clock.now(), limit: 1 })) !== undefined"),
      "false",
    ],
  ]),
  ...faults("src/access/credentials/authenticator.ts", identity, [
    ["each spelling of a header is remembered", at("Authenticator.#keyOf", "JSON.stringify(words)"), "authorization"],
    [
      "a token is accepted with any user name",
      at("Authenticator.#byToken", "if (userName !== undefined && (await"),
      "if (userName === null && (await",
    ],
    [
      "a run's token opens files",
      at("Authenticator.authenticateForFiles", 'instanceof AuthenticationFailure || caller.scopes.includes("read")'),
      "!== undefined",
    ],
    [
      "a token for files opens the API",
      at("Authenticator.#byHeader", '"files") return'),
      '"files") return (await this.#byFilesToken(authorization)) ??',
    ],
    ["a verified password is trusted forever", at("Authenticator.#cachedPassword", "<= this.#context.clock.now()"), "< 0"],
  ]),
  ...faults("src/access/credentials/caller-cache.ts", identity, [
    [
      "cached credentials survive their revocation",
      at("CallerCache.invalidate", "this.#invalidated.set(userId, this.#invalidations)"),
      "void userId",
    ],
  ]),
  ...faults(
    "src/access/credentials/credential-usage.ts",
    ["src/access/credentials/credential-usage.test.ts"],
    [
      [
        "the use of each token is written by a query of its own",
        at("CredentialUsageRecorder.#gather", 'await tx.tokens.markUsed(idsOf("token"), at)'),
        'for (const id of idsOf("token")) await tx.tokens.markUsed([id], at)',
      ],
    ],
  ),
  ...faults("src/access/credentials/load-caller.ts", identity, [
    ["a disabled person signs in", at("loadCaller", "!user || !isActiveUser(user) || !isPass"), "!user || !isPass"],
    ["the old password still works", at("loadCaller", "|| !isPasswordCurrent(credentialId, user)"), ""],
    ["a token never ends", at("loadToken", "(row.expiresAt !== null && row.expiresAt <= now)"), "false"],
    ["a session never ends", at("loadCredential", "|| row.expiresAt <= now"), ""],
    ["a token for files never ends", at("loadCredential", "if (!(Number(expires) > now)) return undefined"), ""],
    ["a token authenticates anybody", at("loadToken", "if (row?.userId !== userId || (row"), "if (!row || (row"],
  ]),
  ...faults(
    "src/access/credentials/caller-cache.ts",
    ["src/access/credentials/caller-cache.test.ts"],
    [
      [
        "a caller loaded before a revocation is cached after it",
        at("CallerCache.load", "if (before === this.#invalidations) this"),
        "if (before <= this.#invalidations) this",
      ],
      ["many revocations make earlier ones void", at("CallerCache.invalidate", "this.invalidateAll()"), "this.#invalidated.clear()"],
      [
        "a cached person is never read again",
        at("CallerCache.get", "cached.validUntil > now && cached.loadedAt + this.#maxAgeMs() > now"),
        "true",
      ],
    ],
  ),
  ...faults("src/access/credentials/sessions.ts", identity, [
    [
      "the browser's previous session stays valid",
      at("createSessions.create", "if (previous !== undefined) await endBySecret(tx, previous)"),
      "",
    ],
    [
      "a person disabled meanwhile gets a session",
      at("createSessions.create", "if (!(await loadCaller("),
      "if (false && !(await loadCaller(",
    ],
    ["an ended session stays cached", at("createSessions.end", ")\n    invalidateAfterCommit(tx, session.userId"), ""],
    ["ended sessions stay cached", at("createSessions.endAll", ")\n      invalidateAfterCommit(tx, userId"), ""],
  ]),
  ...faults("src/access/credentials/tokens.ts", identity, [
    ["anybody deletes anybody's token", at("createTokens.delete", "if (row?.userId !== caller.userId) throw"), "if (!row) throw"],
    [
      "a token creates one that outlives it",
      at("createTokens.create", "(wanted.expiresAt ?? Number.POSITIVE_INFINITY) > own.validUntil"),
      "false",
    ],
    ["a read-only token creates one that writes", at("createTokens.create", ")\n      assertCanWrite(caller"), ""],
    ["a read-only token deletes others", at("createTokens.delete", "assertCanWrite(caller)"), ""],
    [
      "a person disabled meanwhile gets a token",
      at("createTokens.create", "if (!own) throw new Failure"),
      "if (own === null) throw new Failure",
    ],
  ]),
  ...faults(
    "src/access/credentials/token-codes.ts",
    ["src/access/credentials/token-codes.integration.test.ts"],
    [
      ["a code never expires", at("createTokenCodes.use", "row.expiresAt <= clock.now() || "), ""],
      [
        "a code works with any verifier",
        at("createTokenCodes.use", "row.challenge !== createHash("),
        "false && row.challenge !== createHash(",
      ],
      ["a code works twice", at("createTokenCodes.use", "await tx.tokenCodes.delete(row.hash)"), ""],
      ["a code outlives its session", at("createTokenCodes.use", "if (!loaded) return undefined"), "if (!loaded) throw new Error()"],
      ["expired codes stay", at("createTokenCodes.create", "await tx.tokenCodes.deleteExpired(clock.now())"), ""],
    ],
  ),
  ...faults("src/access/accounts/accounts.ts", identity, [
    [
      "the last administrator can be removed",
      at("createAccounts.update", "if (losesAdministrator) await assertOtherAdministrator(tx, before)"),
      "",
    ],
    [
      "a person who is enabled again has their old tokens",
      at("createAccounts.update", "if (fields.isDisabled === true) await endCredentials(tx, id)"),
      "",
    ],
    ["a new password leaves sessions valid", at("createAccounts.update", "!== undefined"), "=== null"],
  ]),
  ...faults(
    "src/access/accounts/accounts.ts",
    ["test/attacks/sign-in.test.ts"],
    [
      [
        "an ended password changes its account",
        at("createAccounts.update", "options.proof.id !== passwordCredential(before).id"),
        "options.proof.id === passwordCredential.name",
      ],
    ],
  ),
  ...faults("src/access/passwords/throttle.ts", throttle, [
    ["a name may be guessed from one address", at("perPair"), "10_000"],
    ["an address may guess", at("perAddress"), "60_000"],
    [
      "one person at a shared address locks all others there out",
      at("PasswordThrottle.startAttempt", "if (!this.#isBlamelessDevice(name, from)) "),
      "",
    ],
    [
      "a name has any number of known devices",
      at("PasswordThrottle.#rememberDevice", "devices.size > knownDevices.value && "),
      "false && ",
    ],
    [
      "one person's sign-ins from many addresses evict everybody's known devices",
      at("PasswordThrottle.#rememberDevice", "this.#known.set(name, devices)"),
      "this.#known.set(name, devices)\n    this.#known.set(`${name} ${address}`, devices)",
    ],
    ["a known device guesses any number of passwords", at("PasswordThrottle.#isBlamelessDevice", "&& recent("), "|| recent("],
    ["a name that is guessed from everywhere is not slowed", at("slow.step", "step: wrongPerNameStepMs.value"), "step: 0"],
    ["a name that is guessed from everywhere is shut", at("slow.most", "most: wrongPerNameMaxMs.value"), "most: 2_000_000"],
    [
      "a right password forgives the address",
      at("PasswordThrottle.#record", "this.#pairs.delete(pair)"),
      "this.#addresses.delete(address)",
    ],
  ]),
  ...faults(
    "src/kit/ip-address.ts",
    ["src/kit/ip-address.test.ts"],
    [["each address of a network guesses for itself", at("networkOf", " 4"), " 8"]],
  ),
  ...faults("src/access/passwords/password-checker.ts", identity, [
    [
      "guesses that come at once all count as one",
      at("PasswordChecker.#verify", "begin: () => attempt.assertAllowed(),"),
      "begin: () => {},",
    ],
    [
      "an unknown user name is rejected without a hash",
      at("PasswordChecker.#verify", "right = await this.#hasher.verify("),
      "right = user?.passwordHash != null && await this.#hasher.verify(",
    ],
    [
      "a disabled person's right password is no failure",
      at("PasswordChecker.#verify.end"),
      "(fits ? attempt.recordSuccess() : attempt.recordFailure())",
    ],
  ]),
  ...faults(
    "src/access/credentials/authorization-header.ts",
    ["src/access/credentials/authorization-header.test.ts"],
    [["of two Authorization headers one counts", at("readAuthorizationHeader", "!== undefined"), "=== null"]],
  ),
  ...faults("src/access/credentials/files-token.ts", identity, [
    ["anybody signs tokens for files", at("verifyFilesToken", "|| !timingSafeEqual(given, right)"), ""],
  ]),
  ...faults("src/access/policy/file-access.ts", paths, [
    ["a token for a run opens homes", at("loadFileAccess", "scopedRunId(caller) !== undefined"), "paths.length === 0"],
    ["a read-only token writes files", at("levelOf", 'caller.scopes.includes("write") ? "write" : "read"'), '"write"'],
    [
      "a home whose name begins alike is one's own",
      at("isUnconditional", "isAdmin || isBeneath(path, home)"),
      "isAdmin || path.startsWith(home)",
    ],
    ["a dataset's own directory is moved away", at("isOwn", "if (datasets.some((dataset) => dataset.path === path)) return false"), ""],
    ["the right to read a dataset allows writing into it", at("mountOf", '"data:writeFiles"'), '"data:readFiles"'],
  ]),
  ...faults(
    "src/store/repositories/grants.ts",
    ["test/access/matrix.test.ts"],
    [["a grant counts when its time is over", at("GrantRepository.accessFor", "clock.now()"), "0"]],
  ),
]
