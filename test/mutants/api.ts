// biome-ignore-all lint/suspicious/noTemplateCurlyInString: code of other files is plain text here

import { at, faults } from "./mutant.ts"

const http = ["test/api/http.test.ts"]
const hostile = ["test/api/hostile.test.ts"]
const bodies = ["src/api/http/body.test.ts"]
const reading = ["test/api/reading.test.ts"]
const writing = ["test/api/writing.test.ts"]
const shapes = ["test/api/shapes.test.ts"]
const stop = ["test/api/stop.test.ts"]

/** The rules of the HTTP API. */
export const api = [
  ...faults(
    "src/api/handlers/runs/run-usage.ts",
    ["test/attacks/engine-calls.test.ts"],
    [
      [
        "a person reads the use of runs any number of times at once",
        at("readStats", "server.usageReads.run(caller.userId, () => runs.usage(run, range, caller.userId))"),
        "runs.usage(run, range, caller.userId)",
      ],
    ],
  ),
  ...faults("src/api/http/etag.ts", writing, [
    ["If-Match is ignored", at("checkIfMatch", "if (!tags.includes(etagOf(row)))"), "if (false)"],
    ["a weak tag matches", at("checkIfMatch", "if (!tags.includes(etagOf(row)))"), "if (!tags.some((tag) => tag.endsWith(etagOf(row))))"],
    ["the tag stays when the object changes", at("etagOf"), 'return `"${id}"`'],
  ]),
  ...faults(
    "src/api/handlers/installation.ts",
    ["src/api/description.test.ts"],
    [["the description is built for each request", at("cached", "made.get(settings) ?? make(settings)"), "make(settings)"]],
  ),
  ...faults(
    "src/main/settings/settings.ts",
    ["test/api/installation.test.ts"],
    [["administrators read secrets among the settings", at("settingsInForce", 'secretNames.includes(name) && text !== ""'), "false"]],
  ),
  ...faults(
    "src/api/handlers/resources/find-one.ts",
    ["test/attacks/searches.test.ts"],
    [["one person's concurrent reads by computed fields are unlimited", at("findOne", "scan(search"), "search("]],
  ),
  ...faults("src/api/handlers/resources/owned-resource.ts", writing, [
    ["DELETE ignores If-Match", at("removeResource", 'checkIfMatch(context.header("if-match"), stored as R)'), ""],
    ["the right to read allows deleting", at("removeResource", '"delete"'), '"read"'],
    ["a restoration may grant others rights to a directory", at("restoreResource", "await kind.checkRestore?.(tx, stored)"), ""],
  ]),
  ...faults("src/projects/trust.ts", writing, [
    [
      "anybody marks something as trusted",
      at("checkTrustChange", "given !== stored && !caller.isAdmin"),
      "given !== stored && caller === undefined",
    ],
  ]),
  ...faults("src/projects/references.ts", writing, [
    ["anybody creates objects that belong to others", at("resolveOwner", "!caller.isAdmin"), "caller === undefined"],
    ["a project is assigned to a group without its owner", at("resolveGroup", "caller.groupIds.includes(group.id)"), "group.id > 0"],
  ]),
  ...faults("src/access/policy/authorize.ts", writing, [
    ["hidden objects return 403, which reveals that they exist", at("authorize", '? "hidden"'), '? "forbidden"'],
  ]),
  ...faults("src/api/responses/lists.ts", reading, [
    [
      "a page may be of any size",
      at("toPageRequest", "Math.min(query.pageSize ?? defaultPageSize, maxPageSize)"),
      "query.pageSize ?? defaultPageSize",
    ],
    ["the number of pages lacks the last one", at("toListResponse", "ceil"), "floor"],
    ["q is one word", at("splitWords", '(q ?? "").split(/\\s+/)'), '[q ?? ""]'],
  ]),
  ...faults(
    "src/api/responses/long-lists.ts",
    ["test/attacks/large-answers.test.ts"],
    [
      [
        "a large list is serialized in one step",
        at("toListResult", "if (isSmall) return toListResponse"),
        "if (listing) return toListResponse",
      ],
    ],
  ),
  ...faults(
    "src/api/http/large-responses.ts",
    ["test/attacks/large-answers.test.ts"],
    [["the objects of a large list are made at once", at("sendLongList", "text.length < textPerTurn"), "true"]],
  ),
  ...faults("src/api/handlers/resources/find-one.ts", reading, [
    ["the first of several matches is returned", at("findOne", "if (found.length > 1) throw"), "if (false) throw"],
    ["computed fields are not compared", at("findOne", "else computed.push([name, toColumn(value), toColumn])"), ""],
  ]),
  ...faults("src/projects/dataset-directory.ts", writing, [
    [
      "a person has a dataset in somebody else's home",
      at("checkDatasetPath", "caller.isAdmin || (path.startsWith(home)"),
      'caller.isAdmin || (path.startsWith("/users/")',
    ],
    [
      "a person has a dataset among their projects' directories",
      at("checkDatasetPath", "&& path !== projects && !path.startsWith(`${projects}/`)"),
      "",
    ],
  ]),
  ...faults(
    "src/projects/dataset-overlap.ts",
    ["test/attacks/taken-names.test.ts"],
    [
      ["any number of datasets contain one directory", at("checkDepth", "if (around.length <= maxOverlapping) continue"), "continue"],
      [
        "a directory beside another counts as one around it",
        at("isWithin", "(inner.length === outer.length || inner[outer.length] ==="),
        "(inner.length === outer.length || inner[outer.length] !==",
      ],
    ],
  ),
  ...faults(
    "src/api/with-change.ts",
    ["src/api/with-change.test.ts"],
    [
      [
        "one person's changes stand before everybody's",
        at("withFairChanges", "changes.run(lane, async () => {"),
        "(async (make: () => Promise<unknown>) => changes && make())(async () => {",
      ],
      [
        "a change that waits is made by rights that another process took away",
        at("withFairChanges", "performance.now() - read.at < freshMs"),
        "freshMs > 0",
      ],
    ],
  ),
  ...faults(
    "src/api/operation.ts",
    ["test/attacks/changes.test.ts"],
    [["no person's changes take turns", at("answerOperation", "const chosen = isBounded\n"), "const chosen = false\n"]],
  ),
  ...faults(
    "src/api/lane.ts",
    ["test/attacks/stolen-token.test.ts"],
    [
      [
        "the thief of a token keeps its person from ending it by their own changes",
        at("laneOf", "hasOwnLane(operation) ? `${userId} ${credential.id}` : userId"),
        "userId",
      ],
    ],
  ),
  ...faults(
    "src/api/handlers/accounts/users.ts",
    ["test/attacks/stolen-token.test.ts"],
    [["each token of a person fills the audit", at("changeUser", "if (!isAllowed && passwordHash === undefined)"), "if (false)"]],
  ),
  ...faults(
    "src/api/operation.ts",
    ["test/attacks/stolen-token.test.ts"],
    [["the thief of a token keeps its person from ending it by their connections", at("runOperation", " && !hasOwnLane(operation)"), ""]],
  ),
  ...faults(
    "src/projects/object-limits.ts",
    ["test/attacks/long-texts.test.ts"],
    [["one person's texts fill the database", at("ObjectLimits.checkTextRoom"), ""]],
  ),
  ...faults(
    "src/api/handlers/resources/owned-resource.ts",
    ["test/attacks/long-texts.test.ts"],
    [["an object's text grows without a bound for all", at("checkTextRoom"), ""]],
  ),
  ...faults(
    "src/projects/code/copy-project.ts",
    ["test/attacks/long-texts.test.ts"],
    [
      [
        "copies of a project fill the database with its text",
        at("copyProject", ", { textBytes: longTextBytes(tables.projects, from) }"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/projects/dataset-links.ts",
    ["test/attacks/long-texts.test.ts"],
    [["a project's mount paths fill the database", at("checkPathsLength"), ""]],
  ),
  ...faults(
    "src/projects/object-limits.ts",
    ["src/projects/object-limits.test.ts"],
    [
      [
        "each member of a group is counted by queries of their own",
        at("countGroupRoom", "const live = await tx.users.countOwnedBy([...members])"),
        "let live = 0\n  for (const name of members) live += await tx.users.countOwnedBy([name])",
      ],
      ["each object of a member of a group counts those of all members", at("ObjectLimits.#spendReserved"), "return false"],
    ],
  ),
  ...faults(
    "src/api/handlers/accounts/sessions.ts",
    ["test/api/accounts.test.ts"],
    [["a made-up session is searched for in a change", at("signOut", " && (await identity.sessions.exists(store, session))"), ""]],
  ),
  ...faults(
    "src/api/handlers/accounts/sessions.ts",
    ["test/attacks/changes.test.ts"],
    [
      [
        "one person's sign-ins stand before everybody's changes",
        at("servicesOf", "withFairChanges(services, { caller: { ...caller }, lane, invalidations: 0, changes: server.changes })"),
        "[services, withFairChanges][0] as Services",
      ],
    ],
  ),
  ...faults(
    "src/api/handlers/accounts/groups.ts",
    ["test/attacks/large-answers.test.ts"],
    [["the members of all of a person's groups are read at once", at("maxPlainMembers", "2_000"), "2_000_000"]],
  ),
  ...faults(
    "src/api/handlers/accounts/users.ts",
    ["test/attacks/sign-in.test.ts"],
    [
      [
        "one person's new passwords are all hashed at once",
        at("updateUser", 'server.passwordChanges.run(laneOf("updateUser", caller), () => changeUser(context))'),
        "changeUser(context)",
      ],
      ["a former administrator makes accounts", at("createUser", "authorize(await refreshCaller(context), "), "authorize(context.caller, "],
      ["a former administrator changes accounts", at("changeUser", "authorize(await refreshCaller(context), "), "authorize(caller, "],
    ],
  ),
  ...faults(
    "src/api/operation.ts",
    ["test/attacks/reads.test.ts"],
    [["one person's reads are answered before everybody's", "reads.run(caller.userId, operation, answer, lane)", "answer()"]],
  ),
  ...faults(
    "src/api/pages/page.ts",
    ["test/attacks/reads.test.ts"],
    [["one person's pages are made before everybody's requests", 'request.reads.run(caller.userId, "page", make)', "make()"]],
  ),
  ...faults(
    "src/api/handlers/runs/starts.ts",
    ["test/attacks/reads.test.ts"],
    [["one person's starts are planned before everybody's requests", "await sharedScheduler.waitForNextSlot(caller.userId)", ""]],
  ),
  ...faults(
    "src/kit/queues/turn-shares.ts",
    ["src/kit/queues/turn-shares.test.ts"],
    [["one person's short work takes any part of a turn", ">= shareMs", ">= Number.POSITIVE_INFINITY"]],
  ),
  ...faults(
    "src/events/events.ts",
    ["src/projects/grant-expiry.test.ts"],
    [
      [
        "an event about a grant names each member of its group",
        at("resourceEvents", "groupId === 0 ? { to: [userId] } : { toGroup: groupId }"),
        "{ to: groupId === 0 ? [userId] : await tx.groups.memberIds(groupId) }",
      ],
    ],
  ),
  ...faults(
    "src/projects/grant-expiry.ts",
    ["src/projects/grant-expiry.test.ts"],
    [
      [
        "one person's expired grants delay everybody's notices",
        at("startGrantExpiry.run", "removed < maxAtOnce ? intervalMs : pauseMs"),
        "intervalMs",
      ],
    ],
  ),
  ...faults(
    "src/api/events/feed-policy.ts",
    ["src/api/events/feed-policy.test.ts"],
    [
      [
        "everybody learns what a group no longer sees",
        at("visibilityOf", "caller.isAdmin || !caller.groupIds.includes(toGroup)"),
        "caller.isAdmin",
      ],
    ],
  ),
  ...faults(
    "src/api/handlers/resources/data.ts",
    ["test/attacks/taken-names.test.ts"],
    [
      [
        "one person's directories are made in a change that everybody's wait for",
        at("makeDirectory", "server.datasetDirectories.run(caller.userId, async () => {"),
        "services.store.change(async () => {",
      ],
      [
        "one person's directories are made all at once",
        at("makeDirectory", "server.datasetDirectories.run(caller.userId, async () => {"),
        "(async (work: () => Promise<void>) => work())(async () => {",
      ],
      [
        "a change that moves no dataset reads those around it",
        at("loadChangedDataset", "if (!isInPlace || !hasSameRights) await"),
        "await",
      ],
    ],
  ),
  ...faults(
    "src/projects/unique-directory.ts",
    ["test/attacks/taken-names.test.ts"],
    [["a new directory costs as many attempts as somebody took names", at("maxNumbered"), "10_000"]],
  ),
  ...faults(
    "src/projects/dataset-overlap.ts",
    [...writing, "test/api/grants.test.ts"],
    [["a directory is shared with people who have other rights", at("checkDatasetOverlap", "=== wanted"), "!== undefined"]],
  ),
  ...faults("src/projects/references.ts", shapes, [
    ["of Image and ImageID the first counts", at("resolveImage", "if (added.length > 1)"), "if (false)"],
    [
      "a project may use an image that its owner cannot see",
      at("resolveImage", '(await isAllowed(reads, caller, "image:use", row && imageResource(row)))'),
      "row",
    ],
  ]),
  ...faults("src/projects/dataset-links.ts", shapes, [
    ["a dataset may be mounted twice", at("checkDatasetLinks", "if (seen.has(ID)) throw"), "if (false) throw"],
    [
      "a project may use a dataset that its owner cannot see",
      at("checkDatasetLinks", 'before.has(ID) && (modes.get(ID) ?? "no") === "no"'),
      "rows.has(ID)",
    ],
  ]),
  ...faults("src/api/responses/resources.ts", shapes, [
    [
      "a hidden part is returned in full",
      at("visibleParts", 'can(caller, action, resources[i] as Resource) === "yes"'),
      "resources[i] !== undefined",
    ],
    ["the Doc of parts is returned", at("withoutDoc"), "return { Doc: _doc, ...rest } as never"],
  ]),
  ...faults(
    "src/http/requests/body.ts",
    [...http, ...hostile],
    [
      ["a body may be of any length", at("readBody.onData", "if (length <= maxBytes && "), "if ("],
      ["a body may come in any number of tiny pieces", at("readBody.onData", "maxBytes && !hasTinyChunks(request)"), "maxBytes"],
    ],
  ),
  ...faults(
    "src/api/http/body.ts",
    [...http, ...hostile, ...bodies],
    [
      [
        "one person's large bodies are parsed one right after another",
        at("readJson", "parsing.run(userId, () => parseInSlices(bytes, userId))"),
        "parseInSlices(bytes, userId)",
      ],
      ["a large body is parsed in one turn", at("parseInSlices", "await yielder.pause()"), ""],
      [
        "one person's connections hold any number of large bodies",
        at("readJson", "if (!mayBeLarge(request, options.maxBytes))"),
        "if (true)",
      ],
      ["requests that wait hold any number of large bodies", at("readJson", "used: await use("), "used: use("],
      ["a body may be of any depth", at("scanSlice", "if (depth > maxDepth) throw"), "if (false) throw"],
      ["a body may hold any number of values", at("scanSlice", "if (values > maxValues) throw"), "if (false) throw"],
      ["brackets within strings count", at("scanSlice", "else if (isInString) at += c === backslash ? 1 : 0\n    "), ""],
      ["invalid UTF-8 in a body is replaced", at("newDecoder", ", { fatal: true }"), ""],
      ["a body of any type is read", at("checkType", 'essence.trim() !== "application/json" ||'), ""],
      ["a compressed body is read as it is", at("checkEncoding", '=== undefined || coding.trim().toLowerCase() === "identity"'), '!== ""'],
    ],
  ),
  ...faults("src/http/requests/host.ts", http, [
    ["any Host is answered", at("AllowedHosts.has", "if (!this.#names.has(name) && !isLoopbackName(name)) return false"), ""],
  ]),
  ...faults("src/http/requests/origin.ts", http, [
    [
      "a page from elsewhere writes",
      at("declaresOtherOrigin", "if (origin !== undefined && !ownOrigins.includes(origin)) return true"),
      "",
    ],
    [
      "a frame of another site writes",
      at("declaresOtherOrigin", 'site !== undefined && site !== "same-origin" && site !== "none"'),
      "false",
    ],
  ]),
  ...faults("src/api/http/request-checks.ts", http, [
    [
      "a browser's session writes without an Origin",
      at("checkOrigin", "options.bySession && origin === undefined && site === undefined"),
      "false",
    ],
    ["a body in any transfer coding is read", at("checkRequestHead", "checkTransferEncoding(request)"), ""],
  ]),
  ...faults(
    "src/http/requests/headers.ts",
    ["test/api/proxies.test.ts"],
    [
      [
        "a forwarded request counts as a loopback caller",
        at("isFromLoopback", ") && (forwarded === undefined || (clientAddress !== peer && isLoopbackAddress(clientAddress))"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/http/requests/trusted-proxies.ts",
    ["src/http/requests/trusted-proxies.test.ts"],
    [
      ["anybody's X-Forwarded-For counts", at("TrustedProxies.#chain", "this.trusts(chain.at(-1) as string)"), "true"],
      ["the first address of X-Forwarded-For counts", at("TrustedProxies.#chain", "chain.at(-1) as string"), "peer"],
    ],
  ),
  ...faults(
    "src/api/http/access-log.ts",
    ["test/api/access-log.test.ts"],
    [
      ["an unknown path is logged in full", at("plainPath", ".slice(0, maxPathLength)"), ""],
      ["tokens in paths are logged", at("plainPath", '.replaceAll(/(q[sf]_)[\\w.-]+|[\\w-]{40,}/g, "$1…")'), ""],
      [
        "tokens in paths are logged when a character of them is encoded",
        at("plainPath", "String.fromCharCode(Number.parseInt(code, 16))"),
        "_",
      ],
      ["a response that nobody received is logged as sent", at("AccessLog.note", "headersSent ? response.statusCode : 0"), "statusCode"],
    ],
  ),
  ...faults(
    "src/api/server.ts",
    ["test/api/access-log.test.ts"],
    [
      [
        "a path below /ui/ is logged as it came",
        at("createApi.serve", "routes.has(requestContext.path), performance"),
        "target !== undefined, performance",
      ],
    ],
  ),
  ...faults("src/api/routes.ts", http, [
    ["a wrong method is answered without Allow", at("Routes.refusal", "{ headers: { allow } })"), "{})"],
    ["nothing is found below /admin", at("Routes.find"), "return this.#paths.get(path)?.get(method)"],
  ]),
  ...faults("src/api/http/listener.ts", stop, [
    ["a stop does not notify waiting requests", at("Listener.close", "this.#ending.abort(stopping())"), "{}"],
    ["new requests are taken while the service stops", at("Listener.#admit", "!this.#servers.isClosing"), "response"],
  ]),
  ...faults("src/http/connections/pending-requests.ts", stop, [
    ["a stop aborts active requests", at("PendingRequests.waitUntilNone", "#size ==="), "#size >="],
  ]),
]
