// biome-ignore-all lint/suspicious/noTemplateCurlyInString: code of other files is plain text here

import { at, faults } from "./mutant.ts"

const ports = ["src/gateway/addressing/run-port-allocator.test.ts"]
const chromium = ["src/gateway/addressing/run-port-allocator.browser.test.ts"]
const authors = ["test/api/ports.test.ts"]

/** Isolation of one run's pages from another's when an origin is reused. */
export const origins = [
  ...faults("src/gateway/addressing/port-choice.ts", ports, [
    ["one's own and strangers' projects share a port", at("choosePort", "entry.authors === authors && !isBusy"), "!isBusy"],
    ["one person may have all ports", at("choosePort", ">= maxPortsPerPerson(range, options.maxPerPerson)"), "< 0"],
    [
      "another person's port is assigned again",
      at("choosePort", "if (assigned.has(port)) continue"),
      "if (assigned.has(port) && port < 0) continue",
    ],
  ]),
  ...faults("src/gateway/addressing/run-port-allocator.ts", ports, [
    [
      "a run that became a stranger's in the queue stays at the port",
      at("RunPortAllocator.canServe"),
      "return this.#openPorts.get(key)?.entry.authors !== undefined",
    ],
    [
      "one person's runs stand before everybody's at the ports",
      at("RunPortAllocator.#inPersonsTurn", "(this.#ends.get(userId) ?? Promise.resolve())"),
      "Promise.resolve()",
    ],
  ]),
  ...faults("src/gateway/proxy/response-headers.ts", chromium, [
    [
      "browsers cache a script of an earlier run",
      at("responseHeaders", '!== undefined\n  const dropped = via === "path" ? droppedAtPath : programCookies ? droppedAtPort'),
      '=== undefined\n  const dropped = via === "path" ? droppedAtPath',
    ],
  ]),
  ...faults("src/gateway/addressing/run-origin.ts", chromium, [
    ["a service worker stays at a port", at("handleRunOrigin", "isServiceWorkerScript(request)"), "request.url === undefined"],
  ]),
  ...faults("src/gateway/proxy/entity-tags.ts", chromium, [
    ["an earlier run's cached response counts as current", at("RunEntityTags.constructor"), "this.#mark = `${key.slice(0, 0)}-`"],
  ]),
  ...faults("src/gateway/addressing/ticket-flow.ts", chromium, [
    ["browser data of another project stays at a port", at("enter", "isHandedOver ? clearsOrigin : {}"), "isHandedOver ? {} : {}"],
  ]),
  ...faults(
    "src/gateway/addressing/run-path.ts",
    ["src/gateway/addressing/run-path.test.ts"],
    [["a service worker is served at the apps URL", at("handleRunPath", '"service-worker"'), '"x-service-worker"']],
  ),
  ...faults(
    "src/gateway/proxy/response-headers.ts",
    ["src/gateway/proxy/bytes.integration.test.ts", "src/gateway/proxy/broken-exchanges.integration.test.ts"],
    [["a 204 has a Content-Length", at("responseHeaders", "status < 200 || status === 204"), "status < 200"]],
  ),
  ...faults(
    "src/gateway/upstream/response-head.ts",
    ["src/gateway/proxy/bytes.integration.test.ts", "src/gateway/proxy/broken-exchanges.integration.test.ts"],
    [
      [
        "bytes after a 204 are read as the next response",
        at("parseResponseHead", "keepAlive && !announcesForbiddenBody(head)"),
        "keepAlive",
      ],
    ],
  ),
  ...faults(
    "src/gateway/upstream/response-head.ts",
    ["src/gateway/upstream/response-parser.test.ts"],
    [["a program's answer has any number of header fields", at("parseResponseHead", "lines.length > maxFields + 1"), "lines.length < 0"]],
  ),
  ...faults(
    "src/gateway/upstream/response-parser.ts",
    ["src/gateway/upstream/response-parser.test.ts"],
    [
      [
        "a chunk's size continues what an earlier read began with",
        at("ResponseParser.#plainSize", "if (this.#heldBytes > 0) return undefined\n"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/gateway/upstream/idle-connections.ts",
    ["src/gateway/upstream/idle-connections.test.ts"],
    [
      ["visitors share connections to a program", at("IdleConnections.latestFor", "owner.userId === visitor.userId && "), ""],
      [
        "the sign-ins of one person share connections to a program",
        at("IdleConnections.latestFor", " && owner.credentialId === visitor.credentialId"),
        "",
      ],
      [
        "one person has any number of idle connections to runs",
        at("IdleConnections.add", "this.#closeBeyond(maxOfPerson,"),
        "this.#closeBeyond(Infinity,",
      ],
      [
        "a connection that replaces its person's only one does not count as theirs",
        at("IdleConnections.add", "this.#closeBeyond(maxOfRun, groupOf(this.#ofRun, key).add(connection))"),
        "const group = groupOf(this.#ofPerson, visitor.userId)\nthis.#closeBeyond(maxOfRun, groupOf(this.#ofRun, key).add(connection))\nif (group.size === 0) return void group.add(connection)",
      ],
      ["a run has any number of idle connections", at("IdleConnections.add", "this.#closeBeyond(maxOfRun,"), "this.#closeBeyond(Infinity,"],
    ],
  ),
  ...faults("src/projects/plan/authors.ts", authors, [
    ["a stranger's project counts as one's own", at("authorsOf", "!== starter.userId"), "< 0"],
    [
      "a stranger's image counts as one's own",
      at("authorsOf", "else if (!image.isTrusted) candidates"),
      "else if (image.userId < 0) candidates",
    ],
    ["a stranger's dataset counts as one's own", at("authorsOf", "add(userId).add((await homeOwner(reads, accessInfo)) ?? "), "delete("],
    ["people who once could write to a dataset do not count", at("authorsOf", "await datasetWriters(reads, data)"), "[]"],
    ["people with a write grant do not count", at("writeGranteesOf", 'access === "write"'), 'access === "read"'],
  ]),
  ...faults(
    "src/gateway/sessions/program-cookies.ts",
    ["src/gateway/sessions/program-cookies.test.ts"],
    [["any number of cookies of a request is verified", at("ProgramCookies.decode", "if (this.#toVerify === 0) break"), ""]],
  ),
  ...faults(
    "src/projects/plan/authors.ts",
    ["src/projects/plan/run-plan.test.ts"],
    [
      [
        "each person who once could write to a dataset is read by a query of its own",
        at("authorsOf", "await reads.users.adminsAmong([...candidates])) candidates.delete(id)"),
        "candidates) if ((await reads.users.adminsAmong([id])).length > 0) candidates.delete(id)",
      ],
    ],
  ),
  ...faults(
    "src/api/metrics.ts",
    ["test/api/installation.test.ts"],
    [
      [
        "an answer that was cut short counts as sent",
        at("RequestMetrics.observe", "if (!isSent) count(abortedStatus)"),
        "if (!isSent) count(response.statusCode)",
      ],
    ],
  ),
]
