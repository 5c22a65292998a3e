import { at, faults } from "./mutant.ts"

const home = ["test/api/home.test.ts"]
const waiting = ["src/gateway/proxy/waiting.test.ts"]

/** Isolation of people on one machine: mounts, files, and requests through the gateway. */
export const isolation = [
  ...faults("src/gateway/proxy/forward-request.ts", waiting, [
    [
      "the end of an answer waits in memory for any number of clients",
      at("ForwardedRequest.onEnd", "if (response.writableLength > 0) this.#setReaderWaiting(true)"),
      "",
    ],
    [
      "heads that programs do not end are in memory for any number of requests",
      at("ForwardedRequest.onPause", "this.#connection?.holdsBytes ?? false"),
      "false",
    ],
  ]),
  ...faults(
    "src/gateway/proxy/client-frames.ts",
    ["src/gateway/proxy/client-frames.test.ts"],
    [
      ["pings count as use", at("isSentByPerson", "!textOrBinary.includes(opcode) || "), ""],
      [
        "bytes of a payload are read as frames",
        at("ClientFrames.detectActivity", "frame.header + frame.length - held"),
        "frame.header + Math.min(frame.length, 512) - held",
      ],
    ],
  ),
  ...faults("src/gateway/sessions/connection-registry.ts", waiting, [
    [
      "any number of a person's connections hold bytes that nobody reads",
      at("ConnectionRegistry.setWaiting", "waiting.size > this.#maxWaiting"),
      "false",
    ],
  ]),
  ...faults("src/gateway/server.ts", waiting, [
    ["what follows a request for a WebSocket waits in any number", at("readEarly", "whenFull()"), ""],
  ]),
  ...faults("src/gateway/upstream/connection.ts", waiting, [
    [
      "single bytes for a program that does not read take any memory",
      at("UpstreamConnection.write", "this.#writes.write(this.#socket, chunk, this.#onRoom)"),
      'this.#socket.write(chunk as Buffer, "latin1")',
    ],
  ]),
  ...faults("src/gateway/proxy/tunnel.ts", waiting, [
    [
      "single bytes for a client that does not read take any memory",
      at("Tunnel.onData", "this.#writes.write(this.#socket, Buffer.from(chunk), this.#onRoom)"),
      "this.#socket.write(Buffer.from(chunk))",
    ],
  ]),
  ...faults(
    "src/gateway/upstream/waiting-writes.ts",
    ["src/gateway/upstream/waiting-writes.test.ts"],
    [["short writes wait in any number", at("WaitingWrites.write", "this.#count < maxWaiting"), "true"]],
  ),
  ...faults(
    "src/gateway/proxy/activity.ts",
    ["src/gateway/proxy/activity.test.ts"],
    [
      ["polls count as use", at("ActivityReporter.reportRequest", "!this.#recordGet(this.#of(id), request.path)"), "true"],
      ["a page that loads its code counts as use", at("isCode"), "return method !== path && headers.host === path"],
      ["JupyterLab's saves of its layout count as use", at("isLayoutSave"), "return method !== path && false"],
    ],
  ),
  ...faults(
    "src/gateway/addressing/run-status.ts",
    ["src/gateway/addressing/run-status.test.ts"],
    [
      ["to ask when a run ends counts as use", at("handleRunStatus", 'if (name === "keep") '), ""],
      ["a link keeps a run", at("handleRunStatus", "request.method !== method"), "request.method === undefined"],
    ],
  ),
  ...faults(
    "src/gateway/addressing/run-origin.ts",
    ["src/gateway/addressing/run-status.test.ts"],
    [
      [
        "pages of other origins are told when a run ends",
        at("handleRunOrigin", "if (isCrossOrigin(request, ownOrigin))"),
        "if (!isRunStatusPath(path) && isCrossOrigin(request, ownOrigin))",
      ],
    ],
  ),
  ...faults(
    "src/kit/directory.ts",
    ["src/engine/docker/mounts/mount-pins.integration.test.ts"],
    [["a link to a directory is followed", at("Directory.directory", "| constants.O_NOFOLLOW"), ""]],
  ),
  ...faults(
    "src/engine/docker/mounts/mount-table.ts",
    ["src/engine/docker/mounts/mount-pins.integration.test.ts"],
    [
      ["a read-only pin is writable", at("bindMounts", 'readOnly ? ",ro" : ""'), 'readOnly ? "" : ""'],
      ["set-uid programs and devices work in a pin", at("flags"), '"bind,private"'],
      ["mounts below a source are pinned as well", at("flags"), '"rbind,nosuid,nodev,private"'],
    ],
  ),
  ...faults(
    "src/engine/docker/mounts/mount-pins.ts",
    ["src/engine/docker/mounts/mount-pins.integration.test.ts"],
    [
      ["others may look into the staging folder", at("MountPins.prepare", "(mode & 0o077) !== 0"), "(mode & 0o000) !== 0"],
      ["pins stay mounted", at("MountPins.#releaseFolder", "await unmount(this.#shell, mounted)"), "await unmount(this.#shell, [])"],
    ],
  ),
  ...faults(
    "src/engine/containers/mount-sources.ts",
    ["src/engine/docker/mounts/mount-pins.integration.test.ts"],
    [["a mount point is made in what may only be read", at("createMountPoints", "outer.readOnly ? parent.descend(names) :"), ""]],
  ),
  ...faults(
    "src/engine/docker/network/host-numbers.ts",
    ["src/engine/docker/network/host-numbers.test.ts"],
    [
      ["a run gets the address that was given back last", at("HostNumberPool.#use", "this.#used.delete(host)"), ""],
      ["two starts get the same address", at("HostNumberPool.lease", "if (host !== undefined) this.#leased.add(host)"), ""],
    ],
  ),
  ...faults(
    "src/engine/docker/network/address-owner.ts",
    ["src/engine/docker/network/address-owner.test.ts"],
    [
      ["a process with the same number is taken for the run's", at("AddressOwnership.#hasAddress", "groups?.includes(id) &&"), "groups &&"],
      [
        "a run that lost its address is taken to have it",
        at("AddressOwnership.#hasAddress", "&& addresses?.includes("),
        "|| addresses?.includes(",
      ],
    ],
  ),
  ...faults(
    "src/files/requests/address.ts",
    ["test/attacks/paths.test.ts"],
    [["a path at the files address may lead up", at("decodeName", 'name === ".." ||'), ""]],
  ),
  ...faults(
    "src/main/addresses.ts",
    ["test/attacks/listening.test.ts"],
    [
      [
        "somebody else may answer at the other loopback address",
        at("listenHosts", '? ["127.0.0.1", "::1"] : ["127.0.0.1"]'),
        '? ["127.0.0.1"] : ["127.0.0.1"]',
      ],
      ["the whole network is listened on", at("listenHosts", '? ["127.0.0.1", "::1"] : ["127.0.0.1"]'), '? ["::"] : ["0.0.0.0"]'],
    ],
  ),
  ...faults(
    "src/gateway/server.ts",
    ["src/gateway/proxy/malformed-requests.test.ts"],
    [["a connection that is still being answered is given to another protocol", at("mayUpgrade", "&& !hasPendingRequest(socket)"), ""]],
  ),
  ...faults(
    "src/http/connections/pipelining.ts",
    [
      "src/files/requests/limits.test.ts",
      "src/gateway/proxy/bytes.integration.test.ts",
      "src/gateway/proxy/broken-exchanges.integration.test.ts",
    ],
    [["all requests of a connection are begun at once", at("RequestQueue.add", "if (!this.#isBusy) return"), "if (options) return"]],
  ),
  ...faults(
    "src/http/connections/pipelining.ts",
    ["src/http/connections/parse-errors.test.ts"],
    [
      [
        "a client that ended in the middle of a request keeps its connection",
        at("RequestQueue.#endWithClient", "if (socket.readableEnded) socket.destroy()\n    else"),
        "",
      ],
      [
        "a client that ends behind what is no request keeps its connection",
        at("RequestQueue.#endWithClient", 'else socket.once("end", () => socket.destroy())'),
        "",
      ],
    ],
  ),
  ...faults(
    "src/http/connections/pipelining.ts",
    ["test/api/http.test.ts"],
    [
      ["a malformed request is answered as the previous one", at("RequestQueue.refuse", "isItsBody || !this.#isBusy"), "true"],
      [
        "a body that is none is told as the answer to the request before it",
        at("RequestQueue.refuse", "?.[0].complete === false"),
        "?.[0].complete === undefined",
      ],
    ],
  ),
  ...faults(
    "src/http/connections/pipelining.ts",
    ["src/http/requests/body.test.ts"],
    [
      [
        "an idle connection keeps the body of its last request",
        at("RequestQueue.#next", "if (this.#last?.request.complete) this.#last = undefined"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/http/connections/pipelining.ts",
    ["test/api/event-connections.test.ts"],
    [["a stream takes a connection on which others wait", at("RequestQueue.detach", "this.#waiting.length > 0"), "false"]],
  ),
  ...faults(
    "src/http/node/buffered-request.ts",
    ["src/http/connections/costly-reads.test.ts"],
    [
      ["thousands of chunks of each connection are parsed in one turn", at("BufferedRequest.push", "reportCostlyRead(this.socket)"), ""],
      [
        "chunks that follow an answer are not counted",
        at("BufferedRequest._dump", "this.removeAllListeners"),
        "super._dump(), this.removeAllListeners",
      ],
    ],
  ),
  ...faults(
    "src/engine/docker/observe/kernel-memory-process.ts",
    ["src/engine/docker/observe/kernel-memory.docker.test.ts"],
    [
      ["messages that wait in a run's sockets are nobody's", at("bytesOfSocket", "value.readUInt32LE(memoryFigures.received) +"), ""],
      ["the kernel's memory for locks is nobody's", at("Walk.#addDescriptor", "this.#question.countsLocks && target"), "false && target"],
    ],
  ),
  ...faults(
    "src/engine/docker/observe/kernel-memory.ts",
    ["src/engine/docker/observe/kernel-memory.docker.test.ts"],
    [
      ["sockets that wait in another socket are nobody's", at("KernelMemoryGuard.#look", "answer.hidden <= maxHidden"), "true"],
      ["connections that the kernel tracks are nobody's", at("suspectOf", "tracked * connectionBytes.tracked"), "0"],
    ],
  ),
  ...[
    ["src/engine/docker/observe/deleted-files.test.ts", "a process whose first thread ended has no open files"],
    ["src/engine/docker/observe/kernel-memory.docker.test.ts", "a process whose first thread ended has no sockets"],
  ].flatMap(([test = "", name = ""]) =>
    faults("src/engine/docker/observe/tasks.ts", [test], [[name, at("tasksWithDescriptors", "hasEnded(processId)"), "false"]]),
  ),
  ...faults(
    "src/engine/docker/observe/deleted-files.ts",
    ["src/engine/docker/observe/deleted-files.test.ts"],
    [
      ["a run's open files delay everybody's requests", at("sumOfDevice", "await yielder.pause()"), "yielder"],
      ["files that wait in a socket are nobody's", at("examine", "? Number.POSITIVE_INFINITY : bytes"), "? bytes : bytes"],
    ],
  ),
  ...faults(
    "src/engine/kubernetes/images/registry-client.ts",
    ["src/engine/kubernetes/images/registry-client.test.ts"],
    [
      [
        "a registry's description has any number of values",
        at("RegistrySession.#parse", "hasMoreValues(body, imageAnswerValues.value)"),
        "false",
      ],
      [
        "a public registry redirects Quayside to private addresses",
        at("RegistrySession.#send", "await this.#checkRedirect?.(target.host)"),
        "",
      ],
      [
        "a public registry sends Quayside to private addresses for a token",
        at("RegistrySession.#authorize", "await this.#checkRedirect?.(url.host)"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/engine/kubernetes/images/image-description.ts",
    ["src/engine/kubernetes/images/registry-client.test.ts"],
    [
      ["a node reads names of an image in another case than Quayside", at("fields", "!checkField && inAnyCase.test(name)"), "false"],
      [
        "a node merges names of an image of which Quayside reads the last",
        at("check", "countNames(body) !== countMembers(value)"),
        "false",
      ],
      ["layers of an image have sizes below zero", at("byteCount", " && (value as number) >= 0"), ""],
      ["an index of images is read as one image", at("checkManifest", "manifests && (config || layers)"), "false"],
    ],
  ),
  ...faults(
    "src/engine/docker/images/image-path-resolver.ts",
    ["src/engine/docker/images/image-path-resolver.test.ts"],
    [["paths of images use any amount of memory", at("ImagePathResolver.#forgetOldest", " && bytes <= maxBytes"), ""]],
  ),
  ...faults(
    "src/http/connections/connection-limiter.ts",
    ["src/http/connections/costly-reads.test.ts"],
    [["costly reads let bodies grow that nobody reads", at("Connection.#mayPause", " && !this.#socket.isPaused()"), ""]],
  ),
  ...faults(
    "src/http/connections/http-server.ts",
    ["src/http/connections/costly-reads.test.ts"],
    [
      [
        "hundreds of requests of each connection are parsed in one turn",
        at("createHttpServer", "if (request.socket.destroyed || hasManyFields"),
        "if (hasManyFields",
      ],
      [
        "the heads of many connections, with hundreds of fields each, are parsed in one turn",
        at("hasManyFields", "2 * manyFields"),
        "2_000",
      ],
    ],
  ),
  ...faults(
    "src/http/connections/http-server.ts",
    ["src/http/connections/parse-errors.test.ts"],
    [
      [
        "a request has any number of header fields",
        at("createHttpServer", "server.maxHeadersCount = bounds.http.headers.value"),
        "server.maxHeadersCount = 0",
      ],
    ],
  ),
  ...faults(
    "src/http/connections/http-server.ts",
    ["src/http/connections/request-turns.test.ts"],
    [
      [
        "hundreds of requests for WebSockets begin in one turn",
        at("handleUpgrade", "handleInTurn(options, { request, response }, () => options.upgrade?.({ ...received, response, release }))"),
        "options.upgrade?.({ ...received, response, release })",
      ],
    ],
  ),
  ...faults(
    "src/http/connections/connection-limiter.ts",
    ["src/http/connections/waiting-requests.test.ts"],
    [
      [
        "any number of requests wait on all connections of an address",
        at("ConnectionLimiter.addWaiting", "waiting <= maxWaitingRequests"),
        "waiting < Number.POSITIVE_INFINITY",
      ],
      [
        "requests that waited for an address wait for a person in any number",
        at("Connection.#move", "if (!this.mayWait(waiting)) this.#socket.destroy()"),
        "this.mayWait(waiting)",
      ],
    ],
  ),
  ...faults(
    "src/engine/docker/observe/read-logs.ts",
    ["src/engine/docker/observe/read-logs.test.ts"],
    [["each line of an output takes a buffer until it is read", at("lines", 'stream.setEncoding("latin1")'), "(stream as unknown)"]],
  ),
  ...faults(
    "src/http/responses/json-lines.ts",
    ["src/http/responses/json-lines.test.ts"],
    [["the lines of followed outputs delay everybody's requests", at("sendJsonLines", "await waitForTurn(userId, text, response)"), ""]],
  ),
  ...faults(
    "src/http/connections/request-turns.ts",
    ["src/http/connections/request-turns.test.ts"],
    [
      [
        "hundreds of requests of each person and address begin in one turn",
        at("RequestTurns.#hasTime", "this.#now() - since < turnMs"),
        "true",
      ],
      ["people wait for the crowd of their address", at("RequestTurns.run", "ownKey() ?? key"), "key"],
    ],
  ),
  ...faults(
    "src/http/node/buffered-request.ts",
    ["src/http/node/buffered-request.test.ts"],
    [
      [
        "a body waits in as many pieces as it was cut into",
        at("BufferedRequest.push", "if (chunk.length >= long && !holds)"),
        "if (chunk.length > 0)",
      ],
      ["the end of a body overtakes the buffered part", at("BufferedRequest.push", "this.#handOn()\n      "), ""],
    ],
  ),
  ...faults(
    "src/files/tree/directory-handle.ts",
    ["src/files/process/without-ffi.integration.test.ts"],
    [["the file server follows a link to a file", at("safeOpenFlags"), "constants.O_NONBLOCK"]],
  ),
  ...faults(
    "src/files/tree/cached-calls.ts",
    ["src/files/methods/entries.test.ts", "src/files/tree/unusual-entries.integration.test.ts"],
    [["the file server follows a link to a directory", "openat2.noMagicLinks | openat2.noSymbolicLinks | openat2.beneath |", ""]],
  ),
  ...faults(
    "src/files/process/drop-privileges.ts",
    ["src/files/process/worker.integration.test.ts"],
    [
      [
        "the file server keeps the groups of root, and does not notice",
        at("dropPrivileges", "process.setgroups?.([])"),
        "if (owner === undefined) process.setgroups?.([])",
      ],
      [
        "anybody of the runs' uid can end the file server",
        at("setUids", "functions.setresuid(one, uid, one) === 0"),
        "functions.setresuid(uid, uid, uid) === 0",
      ],
    ],
  ),
  ...faults(
    "src/files/process/worker-process.ts",
    ["src/files/process/worker.integration.test.ts"],
    [
      [
        "the file server gets the main process's environment",
        at("workerEnvironment", 'LANG: "C.UTF-8"'),
        '...process.env, LANG: "C.UTF-8"',
      ],
      ["the file server may gain privileges", at("noNewPrivileges", '[setpriv, "--no-new-privs"]'), "[]"],
    ],
  ),
  ...faults(
    "src/files/staging/sweep.ts",
    ["src/files/staging/staging-area.integration.test.ts"],
    [
      [
        "a file that was moved aside for its replacement is deleted",
        at("restoreAll", "if (name.endsWith(noteSuffix)) await restoreReplaced(root, folder, name)"),
        "",
      ],
      [
        "an entry that cannot be restored now is deleted",
        at("restoreReplaced", 'if (fileFailure(error)?.code !== "not_found") throw error'),
        "void error",
      ],
    ],
  ),
  ...faults(
    "src/projects/code/copy-project.ts",
    ["test/api/code.test.ts"],
    [["a copy of a project is there before its code is", at("copyProject", "await tx.projects.setDeleted(to.id, true)"), ""]],
  ),
  ...faults(
    "src/projects/code/copy-project.ts",
    ["test/api/shapes.test.ts"],
    [["a copy of a project is as trusted as the original", at("copyProject", "isTrusted: false"), ""]],
  ),
  ...faults(
    "src/files/tree/copy-entry.ts",
    ["src/files/tree/swapped-names-in-trees.integration.test.ts", "src/files/tree/swapped-at-worst-moment.test.ts"],
    [
      [
        "a copy of code, or a release, follows a directory that became a link",
        at("copyDirectory", "from.parent.openDirectory(from.name"),
        '(from.parent.constructor as typeof TreeDirectory).of({ fd: process.getBuiltinModule("node:fs").openSync(from.parent.pathTo(from.name)) }, 1',
      ],
    ],
  ),
  ...faults(
    "src/projects/transfer-dataset.ts",
    ["test/api/transfer-ownership.test.ts"],
    [
      ["a file that is handed over has another name in somebody's home", at("finishMove", "await tree.breakHardLinks(to)"), "undefined"],
      [
        "a file whose hard links cannot be severed is transferred",
        at("transferDataset", "await tree.breakHardLinks(dataset.accessInfo)"),
        "",
      ],
      ["a dataset is handed over while a run can write to it", at("checkNotMounted", "(run"), "(run === null"],
    ],
  ),
  ...faults(
    "src/files/methods/copy-move.ts",
    ["src/files/methods/move.test.ts"],
    [
      [
        "a move keeps the files that other people's runs have open",
        at("move", "if (!together || !(await tryRename(transfer)))"),
        "if (!(await tryRename(transfer)))",
      ],
      ["a move drops symbolic links", at("copyToStaging", "preserveLinksAndTimes: isMove"), ""],
      [
        "a move loses what a program writes meanwhile",
        at("copyInto", "copied.sourceState !== (await sourceState(transfer, endpoints))"),
        "false",
      ],
    ],
  ),
  ...faults(
    "src/access/policy/file-access.ts",
    ["src/access/policy/file-access.integration.test.ts"],
    [["a stranger's project counts as the home that it lies in", at("mountKeys", "(?:\\/projects(?:\\/[^/]+)?)?(?="), "(?="]],
  ),
  ...faults(
    "src/files/tree/copy-entry.ts",
    ["src/files/tree/unusual-entries.integration.test.ts"],
    [["a copy descends without limit", at("assertDepth", "depth > maxLevels"), "depth > 100 * maxLevels"]],
  ),
  ...faults(
    "src/files/tree/tree-directory.ts",
    ["src/files/tree/swapped-at-worst-moment.test.ts", "src/files/tree/swapped-names-in-trees.integration.test.ts"],
    [
      [
        "a recursive removal changes a directory behind a link",
        at("TreeDirectory.chmodDirectory", "await this.open(name"),
        "openSync(this.pathTo(name)",
      ],
    ],
  ),
  ...faults(
    "src/files/tree/remove-tree.ts",
    ["src/files/tree/swapped-at-worst-moment.test.ts", "src/files/tree/swapped-names-in-trees.integration.test.ts"],
    [["a program that swaps names keeps its deleted tree", at("moveUp", "if (!swappedCodes.has(failed))"), ""]],
  ),
  ...faults(
    "src/files/methods/put.ts",
    ["src/files/process/upload-crash.integration.test.ts"],
    [
      [
        "an upload is acknowledged before it is in its place",
        at("put", "await finishUpload"),
        "sendEmpty(request.response, 201)\n  await finishUpload",
      ],
    ],
  ),
  ...faults(
    "src/files/tree/copy-totals.ts",
    ["src/files/tree/unusual-entries.integration.test.ts"],
    [["holes count as if they were data", at("bytesOnDisk"), "return size"]],
  ),
  ...faults(
    "src/files/tree/copy-file.ts",
    ["src/files/tree/swapped-at-worst-moment.test.ts", "src/files/tree/swapped-names-in-trees.integration.test.ts"],
    [
      [
        "a copy of code follows a file that became a link",
        at("copyFile", "from.parent.open(from.name"),
        'process.getBuiltinModule("node:fs").openSync(from.parent.pathTo(from.name)',
      ],
    ],
  ),
  ...faults(
    "src/files/tree/copy-file.ts",
    ["src/files/tree/file-tree.integration.test.ts"],
    [["a copy takes set-uid bits along", at("copySmall", "stats.mode & 0o777"), "stats.mode & 0o7777"]],
  ),
  ...faults(
    "src/files/process/supervisor.ts",
    ["src/files/process/tree-crash.integration.test.ts"],
    [["work is lost when the worker dies", at("WorkerSupervisor.perform", "attempt >= maxAttempts ||"), "attempt >= 1 ||"]],
  ),
  ...faults(
    "src/files/process/worker-process.ts",
    ["src/files/process/tree-crash.integration.test.ts"],
    [["the worker is not notified of cancelled work", at("WorkerProcess.perform.onAbort"), "undefined"]],
  ),
  ...faults(
    "src/files/tree/local-file-tree.ts",
    ["src/files/tree/file-tree.integration.test.ts"],
    [
      ["a second copy replaces an existing entry", at("LocalFileTree.#copy", "if (replace) await"), "if (replace || operation) await"],
      ["a copy has no time limit", at("LocalFileTree.#copy", "deadline(maxMs,"), "deadline(maxMs + 600_000,"],
    ],
  ),
  ...faults(
    "src/gateway/proxy/request-headers.ts",
    ["src/gateway/addressing/run-path.test.ts", "src/gateway/addressing/run-origin.test.ts"],
    [["clients may set X-Forwarded headers", at("plainRule", '.startsWith("x-forwarded-")'), ' === ""']],
  ),
  ...faults("src/projects/plan/home-mount.ts", home, [
    ["anybody's code runs in the owner's home", at("refusalBecauseOf", "return writer?.isAdmin ? undefined"), "return true ? undefined"],
    ["a stranger's image mounts somebody's home", at("homeMountRefusal", 'refusalBecauseOf(reads, starter, "image", image)'), "undefined"],
    [
      "no warning explains why the home is not mounted",
      at("homeMountWarning", "if (refusal === undefined || project"),
      "if (refusal !== undefined || project",
    ],
  ]),
  ...faults("src/projects/trust.ts", home, [
    ["trust survives any change", at("authorshipAfterChange", ", isTrusted: false"), ""],
    ["a change by an administrator vouches for earlier ones by others", at("authorshipAfterChange", ": isTainted ? before"), ""],
  ]),
  ...faults(
    "src/projects/plan/trusted-digest.ts",
    ["src/projects/plan/trusted-digest.test.ts"],
    [
      ["a mark vouches for whatever is pushed under a tag", at("checkTrustedDigest", "else if (trusted !== digest)"), "else if (!trusted)"],
      [
        "a trusted project runs whatever is pushed under its image's tag",
        at("imageTrustedByTag", "|| (await reads.projects.part(projectId))?.isTrusted"),
        "",
      ],
      ["a new mark is for the image of an earlier one", at("renewTrustedDigest"), ""],
    ],
  ),
  ...faults(
    "src/runs/lifecycle/launch-attempt.ts",
    ["test/attacks/trusted-image.docker.test.ts"],
    [["no start compares its image with the trusted one", at("LaunchAttempt.#judge", "if (image)"), "if (!image)"]],
  ),
  ...faults(
    "src/projects/trust.ts",
    ["test/api/trust.test.ts"],
    [
      ["trust survives publication", at("trustAfterPublication"), "return {}"],
      ["a trusted project stays so when its image changes", at("endTrustInProjectsWithImage", "requester.caller.isAdmin"), "imageId > 0"],
      ["no event reports the end of trust", at("publishTrustEnd", "if (!"), "if ("],
    ],
  ),
  ...faults(
    "src/projects/code/release.ts",
    ["test/api/trust.test.ts"],
    [["trust survives a release of new code", at("endTrustInRelease", "was?.isTrusted"), "false"]],
  ),
  ...faults(
    "src/projects/code/release.ts",
    ["test/api/code.test.ts"],
    [
      [
        "a mark made while code is released vouches for the new code",
        at("releaseCode", "await endTrustInRelease(context, requester, project.id)"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/api/handlers/runs/starts.ts",
    ["test/api/stale-rights.test.ts"],
    [["a repeat uses a plan that was refused", at("repeat", "wasRefused(run)"), "false"]],
  ),
  ...faults(
    "src/projects/plan/authorize-plan.ts",
    ["test/api/stale-rights.test.ts"],
    [
      [
        "a refused plan keeps the settings of a hidden image",
        at("authorizeDraft", "imageRefusal ? withoutImageSettings(planned) : planned"),
        "planned",
      ],
    ],
  ),
  ...faults("src/api/handlers/resources/projects.ts", home, [
    ["the person who adds a mount is not recorded", at("projectDefinition.change", "linksChanged ||"), ""],
  ]),
  ...faults(
    "src/engine/image-policy.ts",
    ["test/api/images.test.ts"],
    [
      ["anybody can use locally built images", at("assertImageAllowed", "if (!policy.allowLocal) throw builtHere(reference)"), ""],
      ["images pulled with credentials start for everybody", at("assertImageAllowed", "if (!policy.verifyAccess)"), ""],
    ],
  ),
  ...faults(
    "src/gateway/sessions/program-cookies.ts",
    ["src/gateway/addressing/run-port-allocator.test.ts"],
    [["a program gets cookies that another run's set", at("ProgramCookies.decode", "signed[0] !== this.#owner ||"), ""]],
  ),
  ...faults(
    "src/main/run-user.ts",
    ["src/main/run-user.test.ts"],
    [["an account without a shell of its own is taken for closed", at("noLogin", "^("), "^(|"]],
  ),
]
