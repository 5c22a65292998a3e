// biome-ignore-all lint/suspicious/noTemplateCurlyInString: code of other files is plain text here

import { at, faults } from "./mutant.ts"

const proofs = ["test/access/credentials.test.ts"]
const files = ["src/files/access/admission.test.ts", "src/files/access/rights-cache.test.ts"]
const gateway = [
  "src/gateway/addressing/run-path.test.ts",
  "src/gateway/addressing/run-origin.test.ts",
  "src/gateway/addressing/ticket-flow.test.ts",
  "src/gateway/sessions/connection-registry.test.ts",
]
const refusals = ["test/api/refusals.test.ts"]

/**
 * The checks of rights at each entry, removed one at a time, and the counters of their refusals.
 */
export const guards = [
  ...faults(
    "src/http/connections/http-server.ts",
    ["test/attacks/connections.test.ts"],
    [["connections to the API are not counted", at("createHttpServer", "connections?.watch(server)"), ""]],
  ),
  ...faults(
    "src/api/operation.ts",
    ["test/attacks/connections.test.ts"],
    [["a body before any proof may have any length", at("bodyOptions", "caller ? { maxBytes:"), "true ? { maxBytes:"]],
  ),
  ...faults(
    "src/access/passwords/hash-queue.ts",
    ["src/access/passwords/hash-queue.test.ts"],
    [["a name's passwords are all checked at once", at("HashQueue.#mayRun", "name === undefined || !this.#names.has(name)"), "true"]],
  ),
  ...faults(
    "src/access/passwords/throttle.ts",
    ["src/access/passwords/sign-in.integration.test.ts"],
    [
      [
        "strangers slow a name's own devices",
        at("PasswordThrottle.startAttempt", "delayMs: isKnown ? 0 : this.#delay(name)"),
        "delayMs: this.#delay(name)",
      ],
    ],
  ),
  ...faults("src/api/operation.ts", proofs, [
    ["a preview omits refusals", at("runOperation", "if (caller) checkAttainable(caller, endpoint.permission as Action)"), ""],
  ]),
  ...faults(
    "src/api/operation.ts",
    ["test/access/cross-site.test.ts"],
    [
      [
        "a page from elsewhere is listened to",
        at("runOperation", "checkOrigin(request, { origin, host: requestContext.host, bySession })"),
        "void checkOrigin",
      ],
      ["whether a session proves a write is not asked", at("runOperation", 'caller.credential.kind === "session"'), "false"],
    ],
  ),
  ...faults(
    "src/api/http/request-checks.ts",
    ["test/access/cross-site.test.ts"],
    [["a page from elsewhere reads by a visitor's session", at("checkOrigin", "(!options.bySession || isNavigation(request))"), "true"]],
  ),
  ...faults(
    "src/api/operation.ts",
    ["test/api/accounts.test.ts"],
    [
      [
        "of two Authorization headers the first counts",
        at("authenticate", "if (authorization instanceof AuthenticationFailure) throw authorization"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/access/policy/file-access.ts",
    ["src/access/policy/file-access.integration.test.ts"],
    [
      [
        "a hidden dataset costs a question more than none",
        at("loadDatasetsAround", ".length > 0 || isUnconditional(caller, path) ? around : [undefined]"),
        "",
      ],
      ["datasets below a directory cost others a question more", at("datasetsOf", "|| !isUnconditional(query.caller, path)"), ""],
    ],
  ),
  ...faults(
    "src/files/access/open-requests.ts",
    ["test/access/open-files.test.ts"],
    [
      ["a download or upload continues after the credentials end", at("OpenRequests.#check", "await request.revalidate()"), ""],
      ["a download or upload continues after the right ends", at("OpenRequests.#check", "await request.assertStillAllowed()"), ""],
    ],
  ),
  ...faults(
    "src/access/credentials/authenticator.ts",
    ["test/access/open-files.test.ts"],
    [
      [
        "wrong passwords keep a download or upload going",
        at("Authenticator.authenticateForFiles", "const caller = begunAs"),
        'const caller = begunAs?.credentialId.startsWith("files:")',
      ],
    ],
  ),
  ...faults(
    "src/files/methods/copy-move.ts",
    ["test/access/open-files.test.ts"],
    [
      [
        "a copy continues after the right to write to its target ends",
        at("readTransfer", "await request.assertReplaceable(target.names)\n  }"),
        "await request.assertReadable()\n  }",
      ],
    ],
  ),
  ...faults(
    "src/files/methods/put.ts",
    ["test/access/open-files.test.ts"],
    [
      [
        "an upload continues for people who may only read by then",
        at("put", "request.assertStillAllowed = () => request.assertReplaceable()"),
        "await request.assertReplaceable()",
      ],
    ],
  ),
  ...faults("src/gateway/addressing/run-path.ts", gateway, [
    ["a page from elsewhere asks at a run's path", at("handleRunPath", "checkOrigin(context, gatewayRequest)"), ""],
    ["any credentials open every run", at("openableRun", "await context.connections.canOpen(visitor, target)"), "visitor"],
    ["a browser is served at a run's path", at("handleRunPath", "if (isBrowserLoad(request)) {"), "if (request.url === undefined) {"],
  ]),
  ...faults("src/gateway/addressing/run-origin.ts", gateway, [
    [
      "a page from elsewhere acts at a run's origin",
      at("handleRunOrigin", "if (isCrossOrigin(request, ownOrigin))"),
      "if (request.url === undefined)",
    ],
    ["a session outlives the right to open", at("handleRunOrigin", "session: yes ? session : undefined"), "session"],
  ]),
  ...faults("src/gateway/addressing/ticket-flow.ts", gateway, [
    [
      "a ticket outlives the right to open",
      at("enter", "if (!(await context.connections.canOpen(ticket.visitor, target))) throw cannotEnter(ticket.path)"),
      "",
    ],
    ["a ticket opens in any browser", at("enter", "!context.sessionsFor(target).hasNonce(cookie, ticket.nonce) ||"), ""],
    ["a ticket opens twice", at("enter", " || !(await context.tickets.use(ticket))) {"), ") {"],
    ["a ticket opens any run", at("enter", "&& ticket.key === target.key"), ""],
  ]),
  ...faults(
    "src/gateway/sessions/connection-registry.ts",
    ["src/gateway/sessions/recheck.test.ts"],
    [["thousands of credentials are rechecked in one turn", at("ConnectionRegistry.recheck", "await yielder.pause()"), ""]],
  ),
  ...faults("src/gateway/sessions/connection-registry.ts", gateway, [
    ["a yes holds for ever", at("ConnectionRegistry.canOpen", "ageMs < maxAnswerAgeMs"), "pair.allowedAt > 0"],
    [
      "an unknown right counts as granted forever",
      at("ConnectionRegistry.#recheck", "if (this.#clock.now() - pair.allowedAt >= graceMs) cut(pair.open)"),
      "",
    ],
  ]),
  ...faults("src/files/methods/handler.ts", files, [
    ["any Host has files", at("createDavHandler", "checkHost(incoming, context.allowedHosts)"), ""],
    ["of two Authorization headers one opens files", at("createDavHandler", "checkRepeatedHeaders(incoming)"), ""],
    [
      "a page from elsewhere changes files",
      at("createDavHandler", "if (caller.isWrite) checkOrigin(incoming, settings.allowedOrigin)"),
      "",
    ],
    ["a token that reads changes files", at("authenticate", "&& caller.isWrite"), "=== null"],
  ]),
  ...faults("src/files/failures.ts", files, [
    ["a wrong proof is not asked for another", at("identityFailure", "status === 401"), "status === 403"],
  ]),
  ...faults("src/files/requests/dav-request.ts", files, [
    [
      "files that are hidden are forbidden",
      at("assertVisibleLevel", 'if (level === "none") throw hiddenNotFound()'),
      'if (level === "none") throw forbidden("You may not see this")',
    ],
    ["the right to read files allows writing", at("assertWriteLevel"), "void level"],
    ["a home is deleted", at("DavRequest.assertReplaceable", "!access.canReplace"), "access === undefined"],
  ]),
  ...faults("src/files/access/rights-cache.ts", files, [
    [
      "a right to files is remembered for ever",
      at("ExpiringMap.get", " && entry.until > performance.now() ? entry.value : undefined"),
      "?.value",
    ],
    [
      "an invalidation keeps the people",
      at(
        "RightsCache.invalidate",
        "this.#people = new ExpiringMap(this.#ttlMs, this.#maxEntries)\n    this.#accesses = new ExpiringMap(this.#ttlMs, this.#maxEntries)",
      ),
      "",
    ],
  ]),
  ...faults(
    "src/api/handlers/accounts/users.ts",
    ["test/api/events.test.ts"],
    [
      [
        "who is deleted leaves groups unnoticed",
        at("deleteUser", "await removeFromAllGroups(services, tx, { actor: context.actor, userId: id })"),
        "",
      ],
    ],
  ),
  ...faults("src/api/operation.ts", refusals, [
    ["refusals of a known person have no actor", at("runOperation", "requestContext.userName = caller?.userName ?? anonymous"), ""],
  ]),
  ...faults("src/access/credentials/authenticator.ts", refusals, [
    ["a run's token at the file server is nobody's", at("Authenticator.authenticateForFiles", ", { userName: caller.userName })"), ")"],
  ]),
  ...faults(
    "src/api/handlers/accounts/sessions.ts",
    ["test/api/accounts.test.ts"],
    [["a token that reads signs everybody out", at("authenticate", 'can(caller, action) !== "yes"'), "false"]],
  ),
  ...faults(
    "src/api/handlers/accounts/sessions.ts",
    ["test/api/sessions.test.ts"],
    [
      ["everybody lists all sessions", at("listSessions", "&& caller.isAdmin"), ""],
      ["a person lists and ends the sessions of others", at("idOfPerson", "caller.isAdmin ?"), "true ?"],
      [
        "ending a session asks for no right",
        at("endOne", 'authorize(caller, action, { resource: row && sessionResource(row), what: "session" })'),
        "void [authorize, sessionResource]",
      ],
      ["ending the others ends one's own", at("endOthers", "except: caller.credential"), ""],
    ],
  ),
  ...faults(
    "src/access/credentials/sessions.ts",
    ["test/api/sessions.test.ts"],
    [
      ["a session stores whatever a browser sends", at("createSessions", "browser.slice(0, maxBrowserCharacters)"), "browser"],
      ["an ended session lives on in the cache", at("createSessions", "invalidateAfterCommit(tx, session.userId)"), ""],
    ],
  ),
  ...faults("src/api/server.ts", refusals, [
    ["refusals of the API are not counted", at("sendRefusal", "[401, 403, 429].includes(failure.status)"), "failure.status === 0"],
  ]),
  ...faults("src/api/pages/pages.ts", refusals, [
    ["refusals at /open are not counted", at("openRun", "if (run && !allowed) services"), "if (run && allowed) services"],
  ]),
  ...faults("src/gateway/addressing/run-path.ts", refusals, [
    [
      "requests for a hidden run are not counted",
      at("openableRun", 'auditRefusal(context, gatewayRequest, { visitor, code: "hidden" })'),
      "",
    ],
  ]),
  ...faults("src/gateway/refusals.ts", refusals, [
    ["refusals of the gateway are not counted", at("sendFailure", "error instanceof Failure && isAudited(error)"), "false"],
  ]),
  ...faults("src/files/methods/handler.ts", refusals, [
    ["refusals of the file server are not counted", at("createDavHandler", "recordRefusal(context, caller, error)"), ""],
    ["requests for hidden files are not counted", at("recordRefusal", "if (isHidden || status === 401"), "if (status === 401"],
    ["a refusal at the files address has no actor", at("authenticate", "caller.userName = found.userName"), ""],
  ]),
  ...faults(
    "src/main/addresses.ts",
    ["test/settings.test.ts"],
    [["two addresses may be one", at("assertDistinct", "if (other) throw new SettingError"), "if (other === url) throw new SettingError"]],
  ),
  ...faults(
    "src/main/settings/settings.ts",
    ["test/settings.test.ts"],
    [
      ["an address that Kubernetes injects is taken for a port", at("isInjected", '(!isKnown || variable.endsWith("_PORT"))'), "!isKnown"],
      ["a setting with a wrong value is passed over", at("isInjected", '(!isKnown || variable.endsWith("_PORT"))'), "variable !== value"],
      ["what Kubernetes tells of each port stops the start", at("isInjected", "(_(PROTO|PORT|ADDR))?$/"), "$/"],
    ],
  ),
  ...faults(
    "src/main/settings/parse.ts",
    ["test/settings.test.ts"],
    [["an address is taken for the path of a socket", at("parseSocketPath", 'path.includes("://")'), "path === value + 1"]],
  ),
  ...faults("src/main/files-authority.ts", refusals, [
    [
      "reads and writes that are refused are one",
      at("createFilesAuthority.recordRefusals", 'isWrite ? "writeFiles" : "readFiles"'),
      '"readFiles"',
    ],
    ["refusals of files count one each", at("createFilesAuthority.recordRefusals", "{ code, count })"), "{ code })"],
  ]),
  ...faults("src/main/run-directory.ts", refusals, [
    [
      "a refusal at the gateway has no actor",
      at("createRunDirectory.recordRefusal.name", "(visitor && (await identity"),
      "(visitor === null && (await identity",
    ],
  ]),
  ...faults(
    "src/files/process/authority-proxy.ts",
    ["src/files/process/worker.integration.test.ts"],
    [
      [
        "of many refusals one is told",
        at("AuthorityProxy.recordRefusals", "if (known) known.count += refusal.count"),
        "if (known) known.count = refusal.count",
      ],
    ],
  ),
  ...faults(
    "src/events/refusal-counter.ts",
    ["src/events/refusal-counter.test.ts"],
    [
      ["of many refusals one is counted", at("RefusalCounter.count", "if (known) known.count += count"), "if (known) known.count = count"],
      ["refusals of one actor are all one", at("RefusalCounter.count", "`${refusal.actor} ${refusal.action}`"), "refusal.actor"],
      ["refusals of one action are all one", at("RefusalCounter.count", "`${refusal.actor} ${refusal.action}`"), "refusal.action"],
      ["each refusal is a row", at("RefusalCounter.count", "#minute ??= this.#untilOver"), "#write"],
      ["refusals gather in memory", at("RefusalCounter.count", "if (this.#counts.size > maxCounts) this.#write()"), ""],
      [
        "the refusals of the last minute are lost",
        at("RefusalCounter.[Symbol.asyncDispose]", "await this.#minute\n    this.#write()"),
        "this.#counts.clear()\n    await this.#minute",
      ],
    ],
  ),
  ...faults(
    "src/gateway/addressing/run-path.ts",
    ["test/access/hidden.test.ts"],
    [
      [
        "what is not there is refused sooner than what is hidden",
        at("openableRun", "await context.runs.canOpen(visitor, id).catch(() => false)"),
        "{}",
      ],
    ],
  ),
  ...faults(
    "src/gateway/sessions/connection-registry.ts",
    ["test/access/gateway.test.ts"],
    [["what is open is never asked about again", at("ConnectionRegistry.recheck"), ""]],
  ),
  ...faults(
    "src/store/repositories/grants.ts",
    ["test/access/lists.test.ts"],
    [["everybody's grants are listed to everybody", at("GrantRepository.list", 'addViewer("grants", viewer, { args, shape })'), ""]],
  ),
  ...faults(
    "src/access/policy/file-access.ts",
    ["test/access/files.test.ts"],
    [
      [
        "a dataset's grants do not count for its files",
        at("loadMountModes", 'await loadGrants(reads, caller, { actions: ["data:writeFiles"], resources: asked })'),
        "asked",
      ],
    ],
  ),
  ...faults(
    "src/api/pages/pages.ts",
    ["test/access/pages.test.ts"],
    [["a page without a rule for its visitors", at("pageHandlers", "openIdPages"), 'openIdPages,\n  "/ui/else": appPage']],
  ),
  ...faults(
    "src/api/pages/page.ts",
    ["test/access/pages.test.ts"],
    [
      [
        "the web UI is shown to everybody",
        at("forSignedIn", "return toSignIn(request)"),
        "return page(services, request, { userId: 0, groupIds: [], groupNames: [], scopes: [], credential: {} } as never)",
      ],
    ],
  ),
  ...faults(
    "src/files/requests/dav-request.ts",
    ["test/access/files.test.ts"],
    [["passing through a directory allows reading it", at("DavRequest.assertReadable", '"traverse"'), '"none"']],
  ),
]
