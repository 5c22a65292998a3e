// biome-ignore-all lint/suspicious/noTemplateCurlyInString: code of other files is plain text here

import { at, faults } from "./mutant.ts"

const amplification = ["src/files/requests/amplification.integration.test.ts"]
const manyProperties = ["src/files/properties/property-table.test.ts"]
const staleProperties = ["src/files/properties/stale-properties.integration.test.ts"]
const budget = ["src/files/properties/property-budget.test.ts"]

const uploads = ["src/files/uploads/tus.test.ts"]

const addresses = ["src/files/requests/address.test.ts"]
const flushes = ["src/files/staging/flush.test.ts"]
const heldCalls = ["src/files/requests/held-calls.integration.test.ts"]
const waitingChanges = ["src/files/requests/waiting-changes.integration.test.ts"]
const questions = ["src/files/access/rights-cache.test.ts"]

/** A buffer that keeps each chunk by itself. */
const eachChunk = `= new (class extends ChunkBuffer {
    #chunks: Buffer[] = []
    override add(chunk: Buffer): void {
      this.length += chunk.length
      this.#chunks.push(chunk)
    }
    override take(): Buffer[] {
      this.length = 0
      return this.#chunks.splice(0)
    }
  })()`

/** Bounds of what a request at the files address costs, and what its answers tell. */
export const webdav = [
  ...faults("src/files/tree/tree-directory.ts", heldCalls, [
    [
      "names are looked up in the event loop",
      at("TreeDirectory.lookUp", "await statsAt(this.pathTo(name))"),
      'process.getBuiltinModule("node:fs").lstatSync(this.pathTo(name), { throwIfNoEntry: false })',
    ],
    [
      "files are opened in the event loop",
      at("TreeDirectory.open", "await this.inTurn(() => openFile(path, flags | safeOpenFlags, mode))"),
      "openSync(path, flags | safeOpenFlags, mode)",
    ],
    [
      "directories are made in the event loop",
      at("TreeDirectory.makeDirectory", "await this.inTurn(() => mkdir(this.pathTo(name), { mode }))"),
      'process.getBuiltinModule("node:fs").mkdirSync(this.pathTo(name), { mode })',
    ],
    [
      "entries are renamed in the event loop",
      at("TreeDirectory.rename", "await this.inTurn(() => rename(from, target))"),
      'process.getBuiltinModule("node:fs").renameSync(from, target)',
    ],
    [
      "files are removed in the event loop",
      at("TreeDirectory.unlink", "await this.inTurn(() => unlink(this.pathTo(name)))"),
      'process.getBuiltinModule("node:fs").unlinkSync(this.pathTo(name))',
    ],
    ["directories are read in the event loop", at("TreeDirectory.batches", "await entries.read()"), "entries.readSync()"],
    ["a person's calls that wait have no turns", at("TreeDirectory.inTurn", "withDiskTurn(this.owner, work)"), "work()"],
  ]),
  ...faults("src/files/staging/staging-area.ts", heldCalls, [
    ["unfinished and deleted entries of all people are in one folder", at("StagingArea.#folderFor", "String(owner)"), '""'],
    [
      "a file gets its place by a rename that locks its file system",
      at("StagingArea.place", "await this.#linkBeside(from, to)"),
      "undefined",
    ],
  ]),
  ...faults("src/files/tree/cached-calls.ts", heldCalls, [
    ["names that the kernel must look up are opened in the event loop", " | openat2.cached, 16)", ", 16)"],
  ]),
  ...faults(
    "src/files/storage/ledger.ts",
    ["src/files/storage/storage.integration.test.ts"],
    [["each upload asks for the members of its owner's groups", "this.#questions.get(account) ??", ""]],
  ),
  ...faults(
    "src/files/storage/ledger.ts",
    ["src/files/storage/copies-of-small-files.integration.test.ts"],
    [["each file of a copy may take more than it counts", at("StorageLedger.maxSizeOf", "blockBytes"), "0"]],
  ),
  ...faults(
    "src/files/tree/local-file-tree.ts",
    ["src/files/storage/copies-of-small-files.integration.test.ts"],
    [
      [
        "copies of a project's code count only the bytes of its files",
        at("LocalFileTree.#copy", "this.#storage.maxSizeOf(copied)"),
        "copied.bytes",
      ],
    ],
  ),
  ...faults(
    "src/files/storage/reservation.ts",
    ["src/files/storage/reservation.test.ts"],
    [["empty files use up the disk's inodes unseen", at("pacedDiskCheck", " && calls < diskCheckCalls"), ""]],
  ),
  ...faults(
    "src/runs/storage/storage-enforcer.ts",
    ["src/runs/storage/storage-enforcer.test.ts"],
    [["all members of a group are counted at once", "this.#counting.size >= maxFirstCounts", "false"]],
  ),
  ...faults(
    "src/runs/storage/storage-quotas.ts",
    ["src/runs/storage/storage-enforcer.test.ts"],
    [
      [
        "the quota of each member reads all members of their groups",
        at("StorageQuotas.#membersOf", "known && known.until > performance.now()"),
        "known && false",
      ],
    ],
  ),
  ...faults(
    "src/files/methods/listing.ts",
    ["src/files/access/listing-rights.integration.test.ts"],
    [
      ["a listing goes on in a dataset after the right to it ended", "await request.assertVisible([...at.names, at.name])", ""],
      ["a listing has the rights that its reader had at first", "performance.now() < until", "true"],
    ],
  ),
  ...faults("src/files/tree/copy-file.ts", heldCalls, [
    [
      "everybody waits until the file of a copy is made",
      at("copySmall", "await openFile("),
      'process.getBuiltinModule("node:fs").openSync(',
    ],
  ]),
  ...faults(
    "src/files/methods/send-file.ts",
    ["src/files/staging/flush.test.ts"],
    [
      [
        "one person's downloads stand before everybody's uploads",
        "withDiskTurn(userId, () => readInto(fd, chunk, at, Math.min(size, range.end - at)))",
        "readInto(fd, chunk, at, Math.min(size, range.end - at))",
      ],
    ],
  ),
  ...faults(
    "src/files/methods/send-file.ts",
    ["src/files/methods/get-and-put.test.ts"],
    [
      [
        "each chunk of a download takes memory until its end",
        at("sendFile", "sent = writer.write(spare.subarray(0, count))"),
        "sent = Promise.race([writer.write(spare.subarray(0, count)), (globalThis.never ??= new Promise(() => {}))])",
      ],
    ],
  ),
  ...faults(
    "src/files/storage/known-files.ts",
    ["src/files/storage/storage.integration.test.ts"],
    [["files that no count saw free space when they are deleted", at("KnownFiles.countedBytes", "file.ctimeMs < this.#countedAt"), "true"]],
  ),
  ...faults(
    "src/files/storage/reservation.ts",
    ["src/files/storage/disk-space.integration.test.ts"],
    [["the disk is looked at only when an upload begins", at("pacedDiskCheck", "assertDisk(location, 0)"), ""]],
  ),
  ...faults(
    "src/files/storage/reservation.ts",
    ["src/files/storage/storage.integration.test.ts"],
    [
      [
        "a body without a length is not counted",
        at("Reservation.extend", "this.#account?.assertFits(this.#beyondFree(bytes), this.#written + bytes)"),
        "",
      ],
      [
        "a file that is deleted while it is replaced frees its space twice",
        at("subtract", "entry.replacing.get(idOf(file))?.returnLent()"),
        "",
      ],
      [
        "a file that is moved while it is replaced lends its space for ever",
        at("Reservation.assertReplaces", "this.#account?.assertFits(this.#lent, this.#written)"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/files/methods/listing.ts",
    ["src/files/downloads/archive.test.ts"],
    [
      [
        "each entry of an archive opens all directories above it",
        at("visitEntries", "for (const name of entries) await visitChild(walk, reader, { names, name, level })"),
        `for (const name of entries) {
          using each = await root.openDescendant(names)
          await visitChild(walk, new EntryReader(each, [name]), { names, name, level })
        }`,
      ],
    ],
  ),
  ...faults("src/files/uploads/upload-store.ts", uploads, [
    [
      "the files of an upload are made without turns",
      at("UploadStore.create", "await own.inTurn(async () => {"),
      "await ((work: () => Promise<void>) => work())(async () => {",
    ],
    [
      "the facts of an upload are removed in the event loop",
      at("UploadStore.#openNow", "await removeFile(TreeDirectory.of(own, userId), id + factsSuffix)"),
      'process.getBuiltinModule("node:fs").unlinkSync(own.pathTo(id + factsSuffix))',
    ],
    ["an upload outlives its person's right", at("UploadStore.#check", "&& (await this.#mayWrite(userId, facts))"), ""],
    [
      "an upload of which nothing comes reserves its owner's space",
      at("UploadStore.#holdIdle", "room.written <= size"),
      "room.written > 0",
    ],
  ]),
  ...faults(
    "src/files/uploads/upload-store.ts",
    ["src/files/uploads/tus-crash.integration.test.ts"],
    [["an upload with a second name anywhere counts as committed", at("isCommitted", "location.stats?.ino === stats.ino &&"), "true ||"]],
  ),
  ...faults("src/files/requests/dav-request.ts", waitingChanges, [
    ["a change waits for others, and its credential is not checked again", at("DavRequest.lockPaths", "await this.revalidate()"), ""],
  ]),
  ...faults(
    "src/files/requests/path-locks.ts",
    ["src/files/requests/path-locks.test.ts"],
    [
      [
        "each waiting change of an entry waits for all earlier ones by itself",
        at("PathLocks.acquire", "this.#changes.set(joinPath(names), { at: new Set([change]), below: new Set() })"),
        "",
      ],
    ],
  ),
  ...faults("src/files/methods/proppatch.ts", waitingChanges, [
    [
      "properties are changed by a right that ended while the request waited",
      at("proppatch", "using _lock = await request.lockPaths(request.names)\n  await request.assertWritable()"),
      "using _lock = await request.lockPaths(request.names)",
    ],
  ]),
  ...faults("src/files/properties/property-log.ts", waitingChanges, [
    [
      "properties are changed by a right that ended while the change waited for others",
      at("PropertyLog.acquire", "await assertStillAllowed?.()"),
      "",
    ],
    [
      "everybody's changes of properties wait while the right of one is checked",
      at("PropertyLog.acquire", "await assertStillAllowed?.()\n    stack.use(await this.#turns.acquire())"),
      "stack.use(await this.#turns.acquire())\n    await assertStillAllowed?.()",
    ],
  ]),
  ...faults(
    "src/files/tree/copy-file.ts",
    ["src/files/tree/copies-at-once.test.ts"],
    [
      [
        "a copy of a small file contains all that a program appends meanwhile",
        at("copySmall", "await to.parent.inTurn(async () => {"),
        'await to.parent.inTurn(async () => {\n if (known) return process.getBuiltinModule("node:fs").copyFileSync(`/proc/self/fd/${source}`, path)',
      ],
    ],
  ),
  ...faults(
    "src/files/methods/lock.ts",
    ["src/files/locks/stale-locks.test.ts"],
    [
      ["the owner cannot release a guest's lock", at("unlock", "&& !(await request.isOwner(found.path))"), ""],
      ["any guest releases another's lock", at("unlock", "!(await request.isOwner(found.path))"), "false"],
    ],
  ),
  ...faults(
    "src/files/locks/lock-table.ts",
    ["src/files/locks/lock-table.test.ts"],
    [
      [
        "a lock is refreshed for ever",
        at("LockTable.refresh", "Math.min(performance.now() + timeoutMs, lock.endsAt)"),
        "performance.now() + timeoutMs",
      ],
    ],
  ),
  ...faults("src/files/properties/property-table.ts", budget, [
    ["a guest fills the owner's budget for properties", at("maxForGuests", "maxBytes * guestShare"), "maxBytes"],
  ]),
  ...faults("src/files/properties/propfind-request.ts", amplification, [
    [
      "a PROPFIND names any number of properties",
      at("checkPropertyCount", "if (count > propertyNames.value) throw"),
      "if (count < 0) throw",
    ],
  ]),
  ...faults("src/files/xml/xml.ts", amplification, [
    ["a namespace of an XML body has any length", at("checkName", "> namespaceCharacters.value"), "< 0"],
    [
      "a namespace is declared with each element again",
      at("textOf", "textOf(one, prefixes))).join"),
      "textOf(one, prefixes, declarations))).join",
    ],
  ]),
  ...faults("src/files/requests/address.ts", addresses, [["a path has any number of names", at("parseFileAddress", "> maxNames"), "< 0"]]),
  ...faults(
    "src/http/requests/headers.ts",
    ["src/files/access/admission.test.ts", "src/gateway/proxy/malformed-requests.test.ts"],
    [["a request's target has any length", at("checkTarget", "url.length <= maxTarget"), "url.length >= 0"]],
  ),
  ...faults("src/files/access/rights-cache.ts", questions, [
    ["each directory above a path is looked up", at("RightsCache.#ask", "depth < topmost"), "depth >= 0"],
    ["one question is about any number of paths", at("RightsCache.fetchAccess", "from + pathsPerQuestion)"), "paths.length)"],
  ]),
  ...faults("src/files/methods/propfind.ts", amplification, [
    ["a listing has any number of bytes", at("counter", "if (bytes > listingBytes.value"), "if (bytes < 0 && bytes > listingBytes.value"],
  ]),
  ...faults("src/files/locks/lock-xml.ts", amplification, [
    ["each entry below a lock names its owner", at("activeLock", 'lock.path === path ? lock.owner : ""'), "lock.owner"],
  ]),
  ...faults(
    "src/http/connections/turn-budget.ts",
    ["src/http/connections/turn-budget.test.ts"],
    [
      [
        "one person moves any number of bytes in a turn",
        at("TurnBudget.spend", "spent.bytes <= turnBytes || (spent.isAlone"),
        "true || (spent.isAlone",
      ],
      ["a person's reads last for any time in a turn", at("TurnBudget.spend", "if (spent.isSlow) return false"), ""],
      [
        "each connection of a person reads once in a turn whose time has run out",
        at("TurnBudget.spend", "reader.holdBack(owner)"),
        "void reader",
      ],
      [
        "after a slow turn as many connections continue as after a quick one",
        at("TurnBudget.#startTurn", "?.isSlow ? resumedAfterSlowTurn : resumedPerTurn"),
        "?.isSlow ? resumedPerTurn : resumedPerTurn",
      ],
      ["a connection beyond the budget reads on", at("PacedReader.countRead", "&& !this.#isWaiting\n  }"), "\n  }"],
      ["a connection reads on although its receiver has no room", at("PacedReader.#wait", "if (!this.#isPaused) "), ""],
    ],
  ),
  ...faults(
    "src/files/methods/receive-body.ts",
    ["src/files/methods/receive-body.integration.test.ts"],
    [
      ["uploads delay everybody's requests", at("BodyReceiver.#onData", "!this.#reader.countRead(this.#userId, chunk.length)"), "false"],
      ["each byte of an upload takes memory until its end", "= new ChunkBuffer()", eachChunk],
    ],
  ),
  ...faults(
    "src/http/requests/body.ts",
    ["src/http/requests/body.test.ts"],
    [["large bodies delay everybody's requests", at("readBody", "reader?.countRead(userId, chunk.length) === false"), "false"]],
  ),
  ...faults(
    "src/gateway/proxy/tunnel.ts",
    ["src/gateway/proxy/turns.integration.test.ts"],
    [
      [
        "WebSockets delay everybody's requests",
        at("Tunnel.#fromClient", "!this.#reader.countRead(this.#visitor.userId, chunk.length)"),
        "false",
      ],
    ],
  ),
  ...faults(
    "src/gateway/upstream/connection.ts",
    ["src/gateway/proxy/turns.integration.test.ts"],
    [
      [
        "programs' answers delay everybody's requests",
        at("UpstreamConnection.#read", "this.#reader.countRead(this.upstream.visitor.userId, length)"),
        "true",
      ],
    ],
  ),
  ...faults("src/kit/fair-scheduler.ts", amplification, [
    ["one person's long work delays everybody's", at("FairScheduler.#startNext", "this.#waiting.delete(userId)"), ""],
    ["everybody's new connections wait for one person's long work", "const sliceMs = 1", "const sliceMs = 5"],
  ]),
  ...faults("src/files/methods/handler.ts", amplification, [
    ["one person's short requests are answered before everybody's", "context.turnShares.run(userId, () =>", "Promise.resolve("],
    [
      "one person's long paths are opened one right after another",
      at("answer", "if (countNames(address, incoming) > bounds.files.plainPathNames.value) await"),
      "if (false) await",
    ],
    [
      "long paths in headers are opened one right after another",
      at("countNames", '+ slashesIn(String(headers.destination ?? "")) + slashesIn(String(headers.if ?? ""))'),
      "",
    ],
  ]),
  ...faults("src/files/locks/if-header.ts", amplification, [
    ["the paths of an If header have any number of names", at("parseIfHeader", "names > ifNames.value"), "false"],
  ]),
  ...faults("src/files/locks/lock-check.ts", amplification, [
    ["each list of an If header looks its path up", at("conditionsHold", "etags.get(path) ??"), ""],
  ]),
  ...faults("src/files/requests/request-limiter.ts", amplification, [
    ["one person copies any number of trees at once", at("CopyQueue.acquire", "copies.running < maxCopies"), "copies.running >= 0"],
  ]),
  ...faults("src/files/staging/flush.ts", flushes, [
    ["one person's flushes stand before everybody's", at("flush", "inTurn(owner, () => flushFile(fd))"), "inTurn && flushFile(fd)"],
    ["one person's large files are flushed together", at("flush", "fstatSync(fd).size > largeBytes"), "false"],
  ]),
  ...faults(
    "src/files/methods/put.ts",
    ["src/files/storage/storage.integration.test.ts"],
    [
      [
        "an upload to which a program gives a second name counts nothing",
        at("finishUpload", "{ blocks: stats.blocks, nlink: 1 }"),
        "stats",
      ],
    ],
  ),
  ...faults(
    "src/files/methods/delete.ts",
    ["src/files/requests/waiting-changes.integration.test.ts"],
    [
      [
        "a right that ends during the look-ups of a DELETE is used",
        at("removeNow", "await request.assertReplaceable()\n  const removed"),
        "const removed",
      ],
    ],
  ),
  ...faults(
    "src/files/requests/entry-reader.ts",
    ["src/files/requests/entry-reader.test.ts"],
    [
      [
        "a listing looks entries up one after another",
        at("EntryReader.lstat", "await this.#lookAhead(at)"),
        "this.#ahead.set(name, (await this.directory.lookUp([name]))[0])",
      ],
      ["a listing looks up names that were left out", at("EntryReader.lstat", "this.#lookAhead(at)"), "this.#lookAhead(this.#ahead.size)"],
    ],
  ),
  ...faults(
    "src/files/requests/path-locks.ts",
    ["src/files/requests/path-locks.test.ts"],
    [
      ["two changes of one entry overlap", at("PathLocks.acquire", "await Promise.all([...earlier].map(({ ended }) => ended))"), ""],
      [
        "a change overlaps one of the directory above",
        at("PathLocks.#conflicting", "flatMap(([path]) => ["),
        "slice(-1).flatMap(([path]) => [",
      ],
      ["a change of a directory overlaps one below it", at("PathLocks.#conflicting", "?.below ?? []"), "?.at ?? []"],
    ],
  ),
  ...faults("src/files/tree/tree-directory.ts", flushes, [
    [
      "one person's new files stand before everybody's uploads",
      at("TreeDirectory.inTurn", "return withDiskTurn(this.owner, work)"),
      "return work()",
    ],
  ]),
  ...faults("src/files/methods/receive-body.ts", flushes, [
    [
      "one person's writes stand before everybody's",
      at("fileWriter", "withDiskTurn(userId, () => writeAll({ fd, position: from }, chunks))"),
      "writeAll({ fd, position: from }, chunks)",
    ],
  ]),
  ...faults(
    "src/files/tree/remove-tree.ts",
    ["src/files/tree/remove-tree.test.ts"],
    [
      [
        "a removal that failed removes files of a directory that has its descriptor's number by then",
        at("emptyDirectory", "await Promise.all(files)\n  }"),
        "}",
      ],
    ],
  ),
  ...faults(
    "src/files/tree/local-file-tree.ts",
    ["src/files/tree/copies-at-once.test.ts"],
    [
      [
        "one person copies any number of projects at once",
        at("LocalFileTree.#copy", 'using _slot = await this.#copies.acquire(operation.account ?? "")'),
        "",
      ],
    ],
  ),
  ...faults(
    "src/files/downloads/archive.ts",
    ["src/files/downloads/archive.test.ts"],
    [["entries that are moved into an archive are not counted", at("sendArchive", "count(resource)"), ""]],
  ),
  ...faults("src/files/properties/property-table.ts", budget, [
    ["one person's stored properties use everybody's room", at("budgetOwner", "? `/users/${second}` :"), '? "/users" :'],
  ]),
  ...faults("src/files/properties/dead-properties.ts", budget, [
    ["on a full disk no property is removed", at("DeadProperties.patch", "if (onlyRemove(changes))"), "if (false)"],
    ["a copy's properties have no bound", at("DeadProperties.move", "table.hasRoomAt(path, to, isGuest) ?"), "path !== to ?"],
  ]),
  ...faults("src/files/properties/stale-properties.ts", staleProperties, [
    [
      "properties of deleted files fill a budget for ever",
      at("StaleProperties.#removeUnlessMade", "await this.#properties.remove(path, root.owner)"),
      "{}",
    ],
    [
      "properties of an entry that is just moved are lost",
      at("StaleProperties.#removeUnlessMade", "using _lock = await this.#pathLocks.acquire([names])"),
      "",
    ],
    ["all entries of a tree are checked for each PROPPATCH", at("StaleProperties.removeAround", "this.#checks.set(owner, check)"), ""],
  ]),
  ...faults("src/files/tree/local-file-tree.ts", staleProperties, [
    [
      "a dataset that changes hands loses its properties",
      at("LocalFileTree.#move", "await this.#properties.move(joinPath(source), joinPath(target))"),
      "",
    ],
    [
      "the next dataset of a name has the properties of the last",
      at("LocalFileTree.#remove", "await this.#properties.remove(joinPath(names))"),
      "",
    ],
  ]),
  ...faults("src/files/properties/dead-properties.ts", manyProperties, [
    ["copied properties delay everybody's requests", at("DeadProperties.#copyInSlices", "await yielder.pause()"), ""],
    ["the next copy has properties that a killed one left", at("DeadProperties.#copyInSlices", "await write([{ forget: staged }])"), ""],
    ["properties of a killed copy stay", at("DeadProperties.#read", "table.apply({ forget: stagingPath })"), ""],
  ]),
  ...faults("src/files/properties/property-table.ts", manyProperties, [
    [
      "a move costs as much as there are properties",
      at("PropertyTable.apply", "tree.move(entry.move, entry.to)"),
      "this.#copy({ copy: entry.move, to: entry.to, deep: true }), tree.remove(entry.move)",
    ],
    ["paths of stored properties become as long as one likes", at("longestPathsMax", "2 * maxBytes"), "Infinity"],
  ]),
  ...faults("src/files/properties/property-log.ts", manyProperties, [
    [
      "compaction loses the changes of its time",
      at("PropertyLog.#compact", "while (at < log.size) at += await next.appendFrom(old, at, log.size)"),
      "",
    ],
  ]),
  ...faults("src/files/properties/log-file.ts", heldCalls, [
    [
      "the log of properties is written in the event loop",
      at("LogFile.append", "await withDiskTurn(logTurns, () => writeBytes(this.fd, bytes))"),
      'process.getBuiltinModule("node:fs").writeFileSync(this.fd, bytes)',
    ],
    [
      "the log of properties is flushed in the event loop",
      at("LogFile.flush", "await withDiskTurn(logTurns, () => flushFile(this.fd))"),
      'process.getBuiltinModule("node:fs").fdatasyncSync(this.fd)',
    ],
  ]),
  ...faults(
    "src/files/locks/stale-locks.ts",
    ["src/files/locks/stale-locks.test.ts"],
    [["a lock outlives its holder's right", at("releaseStaleLocks", "locks.release(lock)"), "names.push()"]],
  ),
  ...faults(
    "src/files/methods/propfind.ts",
    ["src/files/locks/stale-locks.test.ts"],
    [["a listing shows locks that bind nobody", at("withoutStaleLocks", "if (found.length === 0) return"), "return"]],
  ),
  ...faults(
    "src/files/properties/propfind-response.ts",
    ["src/files/access/hidden-resources.integration.test.ts"],
    [["a directory that one may only traverse shows its stored properties", at("deadRenderer", "isReadable ?"), "path ?"]],
  ),
  ...faults(
    "src/files/properties/live-properties.ts",
    ["src/files/access/hidden-resources.integration.test.ts"],
    [["a directory that one may only traverse shows its locks", at("createLiveProperties", "one.isReadable ?"), "one.path ?"]],
  ),
  ...faults(
    "src/files/locks/lock-check.ts",
    ["src/files/access/hidden-resources.integration.test.ts"],
    [
      [
        "a condition reveals whether a guess about a hidden file is correct",
        at("conditionsHold", "request.readableIfPaths.has(joinPath(names))"),
        "names.length > 0",
      ],
    ],
  ),
]
