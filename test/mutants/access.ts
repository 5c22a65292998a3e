import { faults } from "./mutant.ts"

/** Who may do what. */
export const access = [
  ...faults(
    "src/access/policy/policy.ts",
    ["src/access/policy/policy.test.ts"],
    [
      ["a token for one run opens every run", "(resource && resource.id !== run)", "false"],
      ["hidden objects return 403 instead of 404", 'return "hidden"', 'return "forbidden"'],
      ["a token's scopes do not count", "const scoped = run !== undefined || actor.scopes.includes(right.scope)", "const scoped = true"],
    ],
  ),
  ...faults(
    "src/contract/table.ts",
    ["test/conformance/expectations.test.ts"],
    [
      [
        "an operation without a rule for its callers",
        "  whoami: {\n",
        '  whoElse: { method: "GET", path: "/whoelse", tag: "People and credentials", summary: "", query: none, answer: { one: whoami }, permission: "self:read" },\n  whoami: {\n',
      ],
    ],
  ),
  ...faults(
    "src/api/handlers/runs/starts.ts",
    ["test/access/matrix.test.ts"],
    [
      [
        "a preview is answered without the right to start the project",
        'toStartRequest(context, "project:preview")',
        'toStartRequest(context, "project:copy" as never)',
      ],
      ["a token that reads previews nothing", 'toStartRequest(context, "project:preview")', 'toStartRequest(context, "project:start")'],
    ],
  ),
  ...faults(
    "src/access/openid/openid.ts",
    ["src/access/openid/openid.test.ts"],
    [
      ["an ID token's signature is not looked at", "return [library.enableNonRepudiationChecks, ", "return ["],
      ["a provider's answer may have any length", "configuration[library.customFetch] = boundedFetch\n", ""],
      ["metadata may have any length", "[library.customFetch]: boundedFetch, ", ""],
      ["userinfo wins over what was signed", "...claims }", "}"],
      ["a sign-in has no end", "if (!used.use(", "if (false && !used.once("],
      [
        "an error of the provider counts as a refusal",
        "if (answered !== undefined) return answered >= 500",
        "if (answered !== undefined) return false",
      ],
    ],
  ),
  ...faults(
    "src/access/openid/openid.ts",
    ["test/api/openid.test.ts"],
    [
      ["a sign-in ends wherever a link says", "url?.origin === new URL(baseUrl).origin && ", "url !== undefined && "],
      [
        "a callback is accepted with any state",
        "if (!isSame(new URLSearchParams(query)",
        "if (false && !isSame(new URLSearchParams(query)",
      ],
      ["a callback counts as often as it comes", "if (!used.use(", "if (false && !used.once("],
    ],
  ),
  ...faults(
    "src/access/openid/provision-account.ts",
    ["test/api/openid.test.ts"],
    [
      ["an account goes to whoever has its name", "if (isTaken || !isOpen) {", "if (isTaken) {"],
      ["an account of one subject goes to another", "if (isTaken || !isOpen) {", "if (!isOpen) {"],
      ["everybody gets an account", 'if (rules.unknown === "refuse") {', "if (false) {"],
      ["groups are never left", "await tx.groups.removeMember(group.id, userId)", ""],
      [
        "the claim decides about every group",
        "(name) => accountNameError(name) === undefined && follows(patterns, name)",
        "(name) => accountNameError(name) === undefined",
      ],
    ],
  ),
  ...faults(
    "src/access/passwords/hash-threads.ts",
    ["src/access/passwords/hash-threads.test.ts"],
    [
      ["a hash has the priority of what is answered meanwhile", "  yieldToOthers()\n", ""],
      ["a hash's priority is the same, whatever the service's own is", "Math.min(getPriority(Number(id)) + niceness, least)", "niceness"],
      ["each hash has a thread of its own", "this.#free.pop() ?? this.#start()", "this.#start()"],
    ],
  ),
  ...faults(
    "src/access/credentials/authenticator.ts",
    ["src/access/credentials/credentials.integration.test.ts", "src/access/passwords/sign-in.integration.test.ts"],
    [
      ["a password is hashed whenever its person is read again", "if (known && !this.#isBlockedGuess(known, address)) return known\n", ""],
      ["the cache reveals a right guess", "return cached && !this.#isBlockedGuess(cached.caller, address) ?", "return cached ?"],
      ["a repeated read reveals a right guess", "if (known && !this.#isBlockedGuess(known, address))", "if (known)"],
    ],
  ),
  ...faults(
    "src/runs/admission/admit.ts",
    ["src/runs/lifecycle/races.test.ts"],
    [["a run begins after its person was disabled", "await assertMayStart(tx, request)", ""]],
  ),
  ...faults(
    "src/projects/abort-on-revocation.ts",
    ["test/api/accounts.test.ts"],
    [
      [
        "logs go on after the proof was revoked",
        'if (!callerNow || !resourceNow || (await decideWithGrants(store, callerNow, action, resourceNow)) !== "yes") break',
        "",
      ],
    ],
  ),
]
