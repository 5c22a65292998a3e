// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what stands in other files is plain text here

import { faults } from "./mutant.ts"

const http = ["test/api/http.test.ts"]
const hostile = ["test/api/hostile.test.ts"]
const reading = ["test/api/reading.test.ts"]
const writing = ["test/api/writing.test.ts"]
const shapes = ["test/api/shapes.test.ts"]
const stop = ["test/api/stop.test.ts"]

/** The rules of the HTTP API. */
export const api = [
  ...faults("src/api/http/etag.ts", writing, [
    ["If-Match is passed over", "if (!tags.includes(etagOf(row)))", "if (false)"],
    ["a weak tag matches", "if (!tags.includes(etagOf(row)))", "if (!tags.some((tag) => tag.endsWith(etagOf(row))))"],
    ["the tag stays when the object changes", '`"${id}-${version}-${updatedAt.toString(36)}"`', '`"${id}"`'],
  ]),
  ...faults(
    "src/api/handlers/installation.ts",
    ["src/api/description.test.ts"],
    [["the description is made anew for each who asks", "made.get(settings) ?? make(settings)", "make(settings)"]],
  ),
  ...faults(
    "src/api/handlers/resources/find-one.ts",
    ["test/attacks/searches.test.ts"],
    [
      [
        "one person's concurrent reads by computed fields are unlimited",
        "computed.length === 0 ? search() : scan(search)",
        "computed.length === 0 ? search() : search()",
      ],
    ],
  ),
  ...faults("src/api/handlers/resources/owned-resource.ts", writing, [
    ["DELETE passes If-Match over", 'checkMatch(context.header("if-match"), stored as R)\n    const [was]', "const [was]"],
    [
      "who may change may delete",
      'await authorizeWithGrants(tx, context.caller, action(kind, "delete"), { resource: stored && kind.resource(stored), what: kind.label })',
      'await authorizeWithGrants(tx, context.caller, action(kind, "read"), { resource: stored && kind.resource(stored), what: kind.label })',
    ],
    ["a restoration may give others rights on a directory", "await kind.checkRestore?.(tx, stored)\n", ""],
  ]),
  ...faults("src/projects/trust.ts", writing, [
    ["anybody marks something as trusted", "given !== stored && !caller.isAdmin", "given !== stored && caller === undefined"],
  ]),
  ...faults("src/projects/references.ts", writing, [
    [
      "anybody makes things that belong to others",
      'if (!caller.isAdmin) {\n    throw new Failure("forbidden", "Only administrators may name',
      'if (caller === undefined) {\n    throw new Failure("forbidden", "Only administrators may name',
    ],
    [
      "a project is given to a group that its owner is not in",
      "!(caller.isAdmin || caller.groupIds.includes(group.id))",
      "!(caller.isAdmin || group.id > 0)",
    ],
  ]),
  ...faults("src/access/policy/authorize.ts", writing, [
    [
      "hidden objects return 403, which reveals that they exist",
      'const verdict = resource === undefined ? "hidden" :',
      'const verdict = resource === undefined ? "forbidden" :',
    ],
  ]),
  ...faults("src/api/responses/lists.ts", reading, [
    ["a page may be of any size", "Math.min(query.pageSize ?? defaultPageSize, maxPageSize)", "query.pageSize ?? defaultPageSize"],
    ["the number of pages lacks the last one", "Math.ceil(found.total / request.pageSize)", "Math.floor(found.total / request.pageSize)"],
    ["q is one word", '(q ?? "").split(/\\s+/)', '[q ?? ""]'],
  ]),
  ...faults(
    "src/api/responses/long-lists.ts",
    ["test/attacks/large-answers.test.ts"],
    [["a large list is made at once", "if (isSmall) return toListResponse", "if (listing) return toListResponse"]],
  ),
  ...faults("src/api/handlers/resources/find-one.ts", reading, [
    ["of several the first is answered", "if (found.length > 1) throw", "if (false) throw"],
    ["computed fields are not compared", "else computed.push([name, toColumn(value), toColumn])", ""],
  ]),
  ...faults("src/projects/dataset-directory.ts", writing, [
    [
      "a person has a dataset in somebody else's home",
      "caller.isAdmin || (path.startsWith(home)",
      'caller.isAdmin || (path.startsWith("/users/")',
    ],
    ["a person has a dataset among their projects' directories", " && path !== projects && !path.startsWith(`${projects}/`))", ")"],
  ]),
  ...faults(
    "src/projects/sharing.ts",
    [...writing, "test/api/grants.test.ts"],
    [
      [
        "a directory is shared with people who have other rights",
        "rightsOn(other, grants.get(other.id)) === wanted)) return",
        "rightsOn(other, grants.get(other.id)) !== undefined)) return",
      ],
    ],
  ),
  ...faults("src/projects/references.ts", shapes, [
    ["of Image and ImageID the first counts", "if (added.length > 1)", "if (false)"],
    [
      "a project may use an image that its owner cannot see",
      'if (!(await isAllowed(reads, caller, "image:use", row && imageResource(row))))',
      "if (!row)",
    ],
  ]),
  ...faults("src/projects/dataset-links.ts", shapes, [
    ["a dataset may be mounted twice", "if (seen.has(ID)) throw", "if (false) throw"],
    ["a project may use a dataset that its owner cannot see", '!before.has(ID) && (modes.get(ID) ?? "no") === "no"', "!rows.has(ID)"],
  ]),
  ...faults("src/api/responses/resources.ts", shapes, [
    [
      "a hidden part is answered whole",
      'rows.filter((_, i) => can(caller, action, resources[i] as Resource) === "yes")',
      "rows.filter((_, i) => resources[i] !== undefined)",
    ],
    ["the Doc of parts is answered", "return rest\n", "return { Doc: _doc, ...rest } as never\n"],
  ]),
  ...faults(
    "src/http/requests/body.ts",
    [...http, ...hostile],
    [
      ["a body may be of any length", "if (length <= maxBytes && ", "if ("],
      ["a body may come in any number of tiny pieces", "maxBytes && !hasTinyChunks(request)", "maxBytes"],
    ],
  ),
  ...faults(
    "src/api/http/body.ts",
    [...http, ...hostile],
    [
      ["a body may be of any depth", "if (depthOf(text) > maxDepth) throw", "if (false) throw"],
      ["brackets within strings count", "if (c === 34) i = endOfString(text, i)\n    else if", "if"],
      ["a body that is no UTF-8 is mended", 'new TextDecoder("utf-8", { fatal: true })', 'new TextDecoder("utf-8")'],
      ["a body of any type is read", 'if (essence.trim() !== "application/json" || !isUtf8) {', "if (!isUtf8) {"],
      [
        "a compressed body is read as it is",
        'if (coding === undefined || coding.trim().toLowerCase() === "identity") return',
        'if (coding !== "") return',
      ],
    ],
  ),
  ...faults("src/http/requests/host.ts", http, [
    ["any Host is answered", "if (!this.#names.has(name) && !isLoopbackName(name)) return false", ""],
  ]),
  ...faults("src/http/requests/origin.ts", http, [
    ["a page from elsewhere writes", "if (origin !== undefined && !ownOrigins.includes(origin)) return true", ""],
    ["a frame of another site writes", 'return site !== undefined && site !== "same-origin" && site !== "none"', "return false"],
  ]),
  ...faults("src/api/http/request-checks.ts", http, [
    [
      "a browser's session writes without saying where from",
      "if (options.bySession && origin === undefined && site === undefined) {",
      "if (false) {",
    ],
    ["a body in any transfer coding is read", "  checkTransferEncoding(request)\n", ""],
  ]),
  ...faults(
    "src/http/requests/headers.ts",
    ["test/api/proxies.test.ts"],
    [
      [
        "a forwarded request counts as a loopback caller",
        "isLoopbackAddress(peer) && (forwarded === undefined || (clientAddress !== peer && isLoopbackAddress(clientAddress)))",
        "isLoopbackAddress(peer)",
      ],
    ],
  ),
  ...faults(
    "src/http/requests/trusted-proxies.ts",
    ["src/http/requests/trusted-proxies.test.ts"],
    [
      [
        "anybody's X-Forwarded-For counts",
        "if (said === undefined || !this.trusts(peer)) return [peer]",
        "if (said === undefined) return [peer]",
      ],
      [
        "the first address of X-Forwarded-For counts",
        "chain.findLast((address) => !this.trusts(address))",
        "chain.find((address) => !this.trusts(address))",
      ],
    ],
  ),
  ...faults(
    "src/api/http/access-log.ts",
    ["test/api/access-log.test.ts"],
    [
      ["an unknown path is logged at any length", ".slice(0, maxPathLength)", ""],
      ["tokens in paths are logged", '.replaceAll(/(q[sf]_)[\\w.-]+|[\\w-]{40,}/g, "$1…")', ""],
      ["tokens in paths are logged when a character of them is encoded", "String.fromCharCode(Number.parseInt(code, 16))", "_"],
      ["a caller who disconnected is logged as answered", "response.headersSent ? response.statusCode : 0", "response.statusCode"],
    ],
  ),
  ...faults("src/api/routes.ts", http, [
    ["a wrong method is answered without Allow", "{ headers: { allow } })", "{})"],
    [
      "nothing is found below /admin",
      "return this.#paths.get(withoutAlias(path))?.get(method)",
      "return this.#paths.get(path)?.get(method)",
    ],
  ]),
  ...faults("src/api/http/listener.ts", stop, [
    [
      "a stop does not notify waiting requests",
      "setTimeout(() => this.#ending.abort(stopping()), abortAfterMs)",
      "setTimeout(() => {}, abortAfterMs)",
    ],
    ["new requests are taken while the service stops", "if (!this.#servers.isClosing) return true", "if (response) return true"],
  ]),
  ...faults("src/http/connections/pending-requests.ts", stop, [
    ["a stop aborts active requests", "if (this.#size === 0) return\n", "if (this.#size >= 0) return\n"],
  ]),
]
