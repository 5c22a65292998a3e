import { at, faults } from "./mutant.ts"

/** Rights and credentials. */
export const access = [
  ...faults(
    "src/access/passwords/sign-in-limiter.ts",
    ["src/access/passwords/sign-in-limiter.test.ts"],
    [["strangers with wrong passwords use up the places of a name's new devices", 'isSuspect ? "suspect" : "clean"', '"stranger"']],
  ),
  ...faults(
    "src/api/pages/openid.ts",
    ["test/api/openid.test.ts"],
    [["all groups of a sign-in change in one transaction", "const groupsPerChange = 10", "const groupsPerChange = 1_000"]],
  ),
  ...faults(
    "src/api/pages/openid.ts",
    ["test/attacks/openid.test.ts"],
    [["the log has the cause of each made-up code", "const logCauseEveryMs = 10_000", "const logCauseEveryMs = 0"]],
  ),
  ...faults(
    "src/projects/new-home.ts",
    ["test/attacks/sign-in.test.ts"],
    [["a refused account leaves its home", at("withNewHome", "await tree.removeEmptyDirectory(home)"), "{\n    }"]],
  ),
  ...faults(
    "src/access/policy/policy.ts",
    ["src/access/policy/policy.test.ts"],
    [
      ["a token for one run opens every run", at("can", "(resource && resource.id !== run)"), "false"],
      ["hidden objects return 403 instead of 404", at("can", 'return "hidden"'), 'return "forbidden"'],
      ["a token's scopes do not count", at("can", "run !== undefined || actor.scopes.includes(right.scope)"), "true"],
    ],
  ),
  ...faults(
    "src/contract/table.ts",
    ["test/conformance/expectations.test.ts"],
    [
      [
        "an operation without a rule for its callers",
        at("endpoints.whoami", "whoami:"),
        'whoElse: { method: "GET", path: "/whoelse", tag: "People and credentials", summary: "", query: none, answer: { one: whoami }, permission: "self:read" },\n  whoami:',
      ],
    ],
  ),
  ...faults(
    "src/api/handlers/runs/starts.ts",
    ["test/access/matrix.test.ts"],
    [
      ["a preview is answered without the right to start the project", at("predictStart", '"project:preview"'), '"project:copy" as never'],
      ["a read-only token previews nothing", at("predictStart", '"project:preview"'), '"project:start"'],
    ],
  ),
  ...faults(
    "src/access/openid/openid.ts",
    ["src/access/openid/openid.integration.test.ts"],
    [
      ["an ID token's signature is not verified", at("Provider.#extensions", "library.enableNonRepudiationChecks,"), ""],
      ["a provider's answer may have any length", at("Provider.#configuration", "configuration[library.customFetch] = boundedFetch"), ""],
      ["metadata may have any length", at("Provider.#discovered", "[library.customFetch]: boundedFetch,"), ""],
      ["userinfo overrides signed claims", at("Provider.claims", "...claims }"), "}"],
      ["a sign-in never expires", at("createOpenId.finish", "endsAt <= clock.now()"), "false"],
      ["a callback may be repeated", at("createOpenId.finish", "if (!(await options.claimProof("), "if (void (await options.claimProof("],
      [
        "a made-up code makes a change of the database",
        at("createOpenId.finish", "const person = "),
        'await options.claimProof({ id: "made up", endsAt })\n      const person = ',
      ],
      ["a provider's error counts as a rejection", at("isUnreachable", "answered >= 500"), "false"],
    ],
  ),
  ...faults(
    "src/access/openid/claims.ts",
    ["src/access/openid/openid.integration.test.ts"],
    [
      ["an address that nobody verified is a user name", at("isUnverifiedEmail", 'userClaim === "email"'), 'userClaim === "mail"'],
      ["the Kelvin sign counts as a letter of user names", at("nameIn", "!/^[\\x20-\\x7e]*$/.test(value) || "), ""],
    ],
  ),
  ...faults(
    "src/access/openid/openid.ts",
    ["test/api/openid.test.ts"],
    [
      ["a sign-in redirects to any address", at("ownAddress", "?.origin === new URL(baseUrl).origin"), " !== undefined"],
      [
        "a callback is accepted with any state",
        at("createOpenId.finish", "if (!isSame(new URLSearchParams(query)"),
        "if (false && !isSame(new URLSearchParams(query)",
      ],
    ],
  ),
  ...faults(
    "src/access/openid/provision-account.ts",
    ["test/api/openid.test.ts"],
    [
      ["an account is linked to anybody with its name", at("linked", "if (isTaken || !isOpen) {"), "if (isTaken) {"],
      ["one subject's account is linked to another", at("linked", "if (isTaken || !isOpen) {"), "if (!isOpen) {"],
      ["everybody gets an account", at("created", 'if (rules.unknown === "refuse") {'), "if (false) {"],
      ["memberships of groups never end", at("changeMembership", "await tx.groups.removeMember(group.id, userId)"), ""],
      ["the claim decides about every group", at("changedMemberships", "&& matchesPattern(patterns, name)"), ""],
    ],
  ),
  ...faults(
    "src/access/passwords/hash-threads.ts",
    ["src/access/passwords/hash-threads.test.ts"],
    [
      ["a hash has the same priority as requests", "  yieldToOthers()\n", ""],
      [
        "a hash's priority ignores the service's own",
        at("yieldToOthers", "Math.min(getPriority(Number(id)) + niceness, least)"),
        "niceness",
      ],
      ["each hash has a thread of its own", at("HashThreads.derive", "this.#free.pop() ?? this.#start()"), "this.#start()"],
    ],
  ),
  ...faults(
    "src/access/credentials/authenticator.ts",
    ["src/access/credentials/credentials.integration.test.ts", "src/access/passwords/sign-in.integration.test.ts"],
    [
      [
        "a password is hashed whenever its person is read again",
        at("Authenticator.#byPassword", "if (known && !this.#isBlockedGuess(known, address)) return known"),
        "",
      ],
      ["the cache reveals a correct guess", at("Authenticator.authenticateCached", "&& !this.#isBlockedGuess(cached.caller, address)"), ""],
      ["a repeated read reveals a correct guess", at("Authenticator.#byPassword", "&& !this.#isBlockedGuess(known, address)"), ""],
    ],
  ),
  ...faults(
    "src/runs/admission/admit.ts",
    ["src/runs/lifecycle/races.test.ts"],
    [["a run begins after its person was disabled", at("admit", "await assertMayStart(tx, request)"), ""]],
  ),
  ...faults(
    "src/projects/abort-on-revocation.ts",
    ["test/api/accounts.test.ts"],
    [
      [
        "logs go on after the proof was revoked",
        at(
          "untilRevoked",
          'if (!callerNow || !resourceNow || (await decideWithGrants(store, callerNow, action, resourceNow)) !== "yes") break',
        ),
        "",
      ],
    ],
  ),
]
