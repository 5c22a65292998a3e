import { faults } from "./mutant.ts"

const ports = ["src/gateway/forms/port-form.test.ts"]
const chromium = ["src/gateway/forms/port-form.browser.test.ts"]
const authors = ["test/api/ports.test.ts"]

/** What keeps one run's pages out of another's, where an origin is used again. */
export const origins = [
  ...faults("src/gateway/forms/port-choice.ts", ports, [
    ["one's own and strangers' projects share a port", "entry.authors === authors && !isBusy", "!isBusy"],
    ["one person may have all ports", "if (all.length >= maxPortsOf(range, options.maxPerPerson))", "if (all.length < 0)"],
    ["a port of somebody else is given again", "if (taken.has(port)) continue", "if (taken.has(port) && port < 0) continue"],
  ]),
  ...faults("src/gateway/forms/run-ports.ts", ports, [
    ["a run that became a stranger's in the queue stays at the port", "?.entry.authors === authors", "?.entry.authors !== undefined"],
  ]),
  ...faults("src/gateway/proxy/response-headers.ts", chromium, [
    [
      "a script of an earlier run is kept by browsers",
      'jar !== undefined\n  const dropped = form === "path" ? droppedAtPath : jar ? droppedAtPort : droppedAtOrigin',
      'jar === undefined\n  const dropped = form === "path" ? droppedAtPath : droppedAtOrigin',
    ],
  ]),
  ...faults("src/gateway/forms/origin-form.ts", chromium, [
    [
      "a service worker stays at a port",
      "if (context.ports && isServiceWorkerScript(request))",
      "if (context.ports && request.url === undefined)",
    ],
  ]),
  ...faults("src/gateway/proxy/entity-tags.ts", chromium, [
    ["an earlier run's answer is taken for this one's", "key.slice(0, 16)", "key.slice(0, 0)"],
  ]),
  ...faults("src/gateway/forms/enter.ts", chromium, [
    ["browser data of another project stays at a port", "isHandedOver ? clearsOrigin : {}", "isHandedOver ? {} : {}"],
  ]),
  ...faults(
    "src/gateway/forms/path-form.ts",
    ["src/gateway/forms/path-form.test.ts"],
    [
      [
        "a service worker is served at the apps URL",
        'request.headers["service-worker"] !== undefined',
        'request.headers["x-service-worker"] !== undefined',
      ],
    ],
  ),
  ...faults(
    "src/gateway/proxy/response-headers.ts",
    ["src/gateway/proxy/bytes.integration.test.ts", "src/gateway/proxy/broken-exchanges.integration.test.ts"],
    [["a 204 keeps its length", "status < 200 || status === 204", "status < 200"]],
  ),
  ...faults(
    "src/gateway/upstream/response-head.ts",
    ["src/gateway/proxy/bytes.integration.test.ts", "src/gateway/proxy/broken-exchanges.integration.test.ts"],
    [["what follows a 204 is read as the next answer", "keepAlive && !announcesForbiddenBody(head)", "keep"]],
  ),
  ...faults("src/projects/plan/authors.ts", authors, [
    ["a stranger's project counts as one's own", "if (project.userId !== starter.userId) authors", "if (project.userId < 0) authors"],
    ["a stranger's image counts as one's own", "else if (!image.isTrusted) candidates", "else if (image.userId < 0) candidates"],
    [
      "a stranger's dataset counts as one's own",
      "candidates.add(userId).add((await homeOwner(reads, accessInfo)) ?? userId)",
      "candidates.delete(userId)",
    ],
    ["people with a write grant do not count", 'access === "write"', 'access === "read"'],
  ]),
  ...faults(
    "src/api/metrics.ts",
    ["test/api/installation.test.ts"],
    [["an answer that was cut short counts as sent", "if (!isSent) count(abortedStatus)", "if (!isSent) count(response.statusCode)"]],
  ),
]
