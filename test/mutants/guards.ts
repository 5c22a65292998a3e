// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what stands in other files is plain text here

import { faults } from "./mutant.ts"

const proofs = ["test/access/proofs.test.ts"]
const files = ["src/files/access/admission.test.ts", "src/files/access/rights-cache.test.ts"]
const gateway = [
  "src/gateway/forms/path-form.test.ts",
  "src/gateway/forms/origin-form.test.ts",
  "src/gateway/proxy/flow.test.ts",
  "src/gateway/sessions/connection-registry.test.ts",
]
const refusals = ["test/api/refusals.test.ts"]

/**
 * What asks the rules at each door, taken out one at a time, and what counts those who were refused
 * there.
 */
export const guards = [
  ...faults(
    "src/http/connections/http-server.ts",
    ["test/attacks/connections.test.ts"],
    [["connections to the API are not counted", "  connections?.watch(server)\n", ""]],
  ),
  ...faults(
    "src/api/operation.ts",
    ["test/attacks/connections.test.ts"],
    [["a body before any proof may have any length", "caller ? { maxBytes:", "true ? { maxBytes:"]],
  ),
  ...faults(
    "src/access/passwords/hash-queue.ts",
    ["src/access/passwords/hash-queue.test.ts"],
    [["a name's passwords are all checked at once", "return name === undefined || !this.#names.has(name)", "return true"]],
  ),
  ...faults(
    "src/access/passwords/throttle.ts",
    ["src/access/passwords/sign-in.integration.test.ts"],
    [["strangers slow a name's own devices", "delayMs: isKnown ? 0 : this.#delay(name)", "delayMs: this.#delay(name)"]],
  ),
  ...faults("src/api/operation.ts", proofs, [
    ["a preview omits refusals", "if (caller) checkAttainable(caller, endpoint.permission as Action)\n", ""],
  ]),
  ...faults(
    "src/api/operation.ts",
    ["test/access/elsewhere.test.ts"],
    [
      [
        "a page from elsewhere is listened to",
        "  checkOrigin(request, { origin, host: requestContext.host, bySession })\n",
        "  void checkOrigin\n",
      ],
      ["whether a session proves a write is not asked", 'caller.credential.kind === "session" : session', "false : session"],
    ],
  ),
  ...faults(
    "src/api/operation.ts",
    ["test/api/accounts.test.ts"],
    [
      [
        "of two Authorization headers the first counts",
        "if (authorization instanceof Refusal) throw authorization\n  if (endpoint",
        "if (endpoint",
      ],
    ],
  ),
  ...faults(
    "src/access/policy/file-access.ts",
    ["src/access/policy/file-access.integration.test.ts"],
    [
      ["a hidden dataset costs a question more than none", "around.length > 0 || isTheirs(caller, path) ? around : [undefined]", "around"],
      ["datasets below a directory cost others a question more", " || !isTheirs(question.caller, path)", ""],
    ],
  ),
  ...faults(
    "src/files/access/open-requests.ts",
    ["test/access/open-files.test.ts"],
    [
      ["a download or upload continues after the credentials end", "await request.revalidate()\n", ""],
      ["a download or upload continues after the right ends", "await request.assertVisible()\n", ""],
    ],
  ),
  ...faults("src/gateway/forms/path-form.ts", gateway, [
    ["a page from elsewhere asks at a run's path", "  checkPlace(context, gatewayRequest)\n", ""],
    [
      "any credentials open every run",
      "if (await context.connections.canOpen(visitor, target)) return target",
      "if (visitor) return target",
    ],
    ["a browser is served at a run's path", "if (isBrowserLoad(request)) {", "if (request.url === undefined) {"],
  ]),
  ...faults("src/gateway/forms/origin-form.ts", gateway, [
    ["a page from elsewhere acts at a run's origin", "if (isCrossOrigin(request, ownOrigin))", "if (request.url === undefined)"],
    ["a session outlives the right to open", "session: yes ? session : undefined", "session"],
  ]),
  ...faults("src/gateway/forms/enter.ts", gateway, [
    [
      "a ticket outlives the right to open",
      "  if (!(await context.connections.canOpen(ticket.visitor, target))) throw cannotEnter(ticket.path)\n",
      "",
    ],
    ["a ticket opens in any browser", "!context.sessionsFor(target).hasNonce(cookie, ticket.nonce) || ", ""],
    ["a ticket opens twice", " || !context.tickets.use(ticket)) {", ") {"],
    ["a ticket opens any run", "ticket !== undefined && ticket.key === target.key", "ticket !== undefined"],
  ]),
  ...faults("src/gateway/sessions/connection-registry.ts", gateway, [
    ["a yes holds for ever", "if (age >= 0 && age < maxAnswerAgeMs) return true", "if (age >= 0 && pair.yesAt > 0) return true"],
    ["an unknown right counts as granted forever", "if (this.#clock.now() - pair.allowedAt >= graceMs) cut(pair.open)\n", ""],
  ]),
  ...faults("src/files/methods/handler.ts", files, [
    ["any Host has files", "      checkHost(incoming, context.allowedHosts)\n", ""],
    ["of two Authorization headers one opens files", "      checkSingle(incoming)\n", ""],
    ["a page from elsewhere changes files", "      checkOrigin(incoming, settings.allowedOrigin)\n", ""],
    [
      "a token that reads changes files",
      "if (found.readOnly && !isReadMethod(incoming.method)) throw",
      "if (found.readOnly === null) throw",
    ],
    ["a wrong proof is not asked for another", "if (status === 401) headers", "if (status === 403) headers"],
  ]),
  ...faults("src/files/requests/dav-request.ts", files, [
    [
      "files that are hidden are forbidden",
      'if (level === "none") throw hidden()',
      'if (level === "none") throw forbidden("You may not see this")',
    ],
    ["the right to read files allows writing", 'if (level !== "write") throw forbidden("You may not write here")', "void level"],
    ["a home is deleted", "if (!access.canReplace)\n      throw forbidden(", "if (access === undefined)\n      throw forbidden("],
  ]),
  ...faults("src/files/access/rights-cache.ts", files, [
    [
      "a right to files is remembered for ever",
      "return entry && entry.until > performance.now() ? entry.value : undefined",
      "return entry?.value",
    ],
    [
      "an invalidation keeps the people",
      "  invalidate(): void {\n    this.#people = new ExpiringMap(this.#ttlMs, this.#max)\n    this.#accesses = new ExpiringMap(this.#ttlMs, this.#max)\n",
      "  invalidate(): void {\n",
    ],
  ]),
  ...faults(
    "src/api/handlers/accounts/users.ts",
    ["test/api/events.test.ts"],
    [["who is deleted leaves groups unnoticed", "    await removeFromAllGroups(services, tx, { actor: context.actor, userId: id })\n", ""]],
  ),
  ...faults("src/api/operation.ts", refusals, [
    ["refusals of a known person have no actor", "  requestContext.userName = caller?.userName ?? anonymous\n", ""],
  ]),
  ...faults("src/access/credentials/authenticator.ts", refusals, [
    ["a run's token at the file server is nobody's", ", { userName: caller.userName })", ")"],
  ]),
  ...faults(
    "src/api/handlers/accounts/sessions.ts",
    ["test/api/accounts.test.ts"],
    [["a token that reads signs everybody out", 'if (can(caller, "session:delete") !== "yes") throw', "if (false) throw"]],
  ),
  ...faults("src/api/server.ts", refusals, [
    ["refusals of the API are not counted", "else if ([401, 403, 429].includes(failure.status))", "else if (failure.status === 0)"],
  ]),
  ...faults("src/api/pages/pages.ts", refusals, [
    ["refusals at /open are not counted", "if (run && !allowed) services", "if (run && may) services"],
  ]),
  ...faults("src/gateway/forms/path-form.ts", refusals, [
    ["requests for a hidden run are not counted", '  auditRefusal(context, gatewayRequest, { visitor, code: "hidden" })\n', ""],
  ]),
  ...faults("src/gateway/refusals.ts", refusals, [
    ["refusals of the gateway are not counted", "if (error instanceof Failure && isAboutRights(error)) audit", "if (error === null) note"],
  ]),
  ...faults("src/files/methods/handler.ts", refusals, [
    ["refusals of the file server are not counted", "      recordRefusal(context, incoming, { caller, error })\n", ""],
    ["requests for hidden files are not counted", "if (isHidden || status === 401", "if (status === 401"],
    ["a refusal at the files address has no actor", "  caller.userName = found.userName\n", ""],
  ]),
  ...faults(
    "src/main/addresses.ts",
    ["test/settings.test.ts"],
    [["two addresses may be one", "if (other) throw new SettingError", "if (other === url) throw new SettingError"]],
  ),
  ...faults(
    "src/main/settings/settings.ts",
    ["test/settings.test.ts"],
    [
      ["an address that Kubernetes injects is taken for a port", '(!isKnown || variable.endsWith("_PORT"))', "!isKnown"],
      ["a setting with a wrong value is passed over", '(!isKnown || variable.endsWith("_PORT"))', "variable !== value"],
      ["what Kubernetes tells of each port stops the start", "(_(PROTO|PORT|ADDR))?$/", "$/"],
    ],
  ),
  ...faults(
    "src/main/settings/parse.ts",
    ["test/settings.test.ts"],
    [["an address is taken for the path of a socket", 'path.includes("://")', "path === value + 1"]],
  ),
  ...faults("src/main/files-authority.ts", refusals, [
    ["reads and writes that are refused are one", 'isWrite ? "writeFiles" : "readFiles"', '"readFiles"'],
    ["refusals of files count one each", "{ code, count })", "{ code })"],
  ]),
  ...faults("src/main/run-directory.ts", refusals, [
    ["a refusal at the gateway has no actor", "(visitor && (await identity", "(visitor === null && (await identity"],
  ]),
  ...faults(
    "src/files/process/authority-proxy.ts",
    ["src/files/process/worker.integration.test.ts"],
    [["of many refusals one is told", "if (known) known.count += refusal.count", "if (known) known.count = refusal.count"]],
  ),
  ...faults(
    "src/events/refusal-counter.ts",
    ["src/events/refusal-counter.test.ts"],
    [
      ["of many refusals one is counted", "if (known) known.count += count", "if (known) known.count = count"],
      ["refusals of one actor are all one", "const key = `${refusal.actor} ${refusal.action}`", "const key = refusal.actor"],
      ["refusals of one action are all one", "const key = `${refusal.actor} ${refusal.action}`", "const key = refusal.action"],
      ["each refusal is a row", "    this.#minute ??= this.#untilOver()\n", "    this.#write()\n"],
      ["refusals gather in memory", "    if (this.#counts.size > maxCounts) this.#write()\n", ""],
      [
        "the refusals of the last minute are lost",
        "    await this.#minute\n    this.#write()\n",
        "    this.#counts.clear()\n    await this.#minute\n",
      ],
    ],
  ),
  ...faults(
    "src/gateway/forms/path-form.ts",
    ["test/access/hidden.test.ts"],
    [["what is not there is refused sooner than what is hidden", "await context.runs.canOpen(visitor, id).catch(() => false)", "{}"]],
  ),
  ...faults(
    "src/gateway/sessions/connection-registry.ts",
    ["test/access/gateway.test.ts"],
    [
      [
        "what is open is never asked about again",
        "    await Promise.all([...this.#pairs].map(([id, pair]) => this.#recheck(id, pair)))\n",
        "",
      ],
    ],
  ),
  ...faults(
    "src/store/repositories/grants.ts",
    ["test/access/lists.test.ts"],
    [["everybody's grants are listed to everybody", '    addViewer("grants", viewer, { args, shape })\n', ""]],
  ),
  ...faults(
    "src/access/policy/file-access.ts",
    ["test/access/files.test.ts"],
    [
      [
        "a dataset's grants do not count for its files",
        'await loadGrants(reads, caller, { actions: ["data:writeFiles"], resources: asked })',
        "asked",
      ],
    ],
  ),
  ...faults(
    "src/api/pages/pages.ts",
    ["test/access/pages.test.ts"],
    [
      ["the home page is shown to everybody", '  if (!(await sessionCaller(services, request))) return redirect("/ui/sign-in")\n', ""],
      ["a page without a rule for its visitors", "  ...openIdPages,\n", '  ...openIdPages,\n  "/ui/else": home,\n'],
    ],
  ),
  ...faults(
    "src/files/requests/dav-request.ts",
    ["test/access/files.test.ts"],
    [
      [
        "passing through a directory allows reading it",
        '=== "traverse") throw forbidden("You may pass',
        '=== "none") throw forbidden("You may pass',
      ],
    ],
  ),
]
