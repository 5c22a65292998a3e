import { at, faults } from "./mutant.ts"

/** Invariants when a disk is full or a process is killed at any moment. */
export const failures = [
  ...faults(
    "src/store/sqlite/errors.ts",
    ["test/api/full-disk.test.ts"],
    [
      [
        "a full disk of the database is reported as an internal error",
        at("failureOf", 'new Failure("storage_full", "The disk that holds the database is full", { cause: error })'),
        "error",
      ],
    ],
  ),
  ...faults(
    "src/files/storage/ledger.ts",
    ["src/files/storage/disk-space.integration.test.ts"],
    [["uploads fill the disk completely", at("StorageLedger.reserve", "assertDisk(directory, bytes)"), ""]],
  ),
  ...faults(
    "src/files/storage/counter.ts",
    ["src/files/storage/counter.integration.test.ts"],
    [
      [
        "a person's slow directories keep everybody from being counted by the file server",
        at("StorageCounter.#scan", "if (isHeld) this.#heldUntil.set(userId, performance.now() + heldForMs)"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/files/storage/counter.ts",
    ["src/files/storage/trash-parts.integration.test.ts"],
    [
      [
        "a deleted directory in which a program goes on writing counts nothing",
        at("StorageCounter.count", "trashOf(account, this.#trash())"),
        "[]",
      ],
    ],
  ),
  ...faults(
    "src/files/storage/ledger.ts",
    ["src/files/storage/open-files.integration.test.ts"],
    [
      ["deleted files that downloads have open count nothing", at("StorageLedger.#used", "this.openFiles.deletedBytes(account)"), "0"],
      [
        "downloads of deleted files go on beyond their reader's limit",
        at("StorageLedger.#endDeletedBeyondLimit", "this.openFiles.endDeleted(reader)"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/files/storage/ledger.ts",
    ["src/files/storage/storage.integration.test.ts"],
    [
      ["uploads are not limited", at("StorageLedger.#over", "quota.maxBytes !== null && used + bytes > quota.maxBytes"), "false"],
      ["uploads at the same time are not counted together", at("StorageLedger.#used", " + entry.reserved)"), ")"],
      [
        "each of several counts at once takes away what was uploaded before",
        at("StorageLedger.count", "entry.writtenBefore = before"),
        "entry.written -= before",
      ],
      ["concurrent saves of a file use no room", at("StorageLedger.#replacedBy", "if (replacing.has(id)) return nothingReplaced"), ""],
    ],
  ),
  ...faults(
    "src/runs/storage/storage-quotas.ts",
    ["src/runs/storage/storage-enforcer.test.ts"],
    [
      ["the storage limits of many people are read in one turn", at("StorageQuotas.quotaOf", "if (slice) await slice"), ""],
      [
        "a directory with a very long path is missing among its owner's",
        at("StorageQuotas.#readAccount", "await this.#store.data.parts(rows.map((row) => row.id))"),
        "rows",
      ],
    ],
  ),
  ...faults(
    "src/runs/storage/storage-quotas.ts",
    ["src/runs/storage/storage-quotas.test.ts"],
    [["released code of deleted projects counts for nobody", at("StorageQuotas.#readAccount", ", ...(await projectsThat(true))"), ""]],
  ),
  ...faults(
    "src/runs/storage/deleted-limits.ts",
    ["src/runs/storage/deleted-limits.test.ts"],
    [
      [
        "deleted files that runs have open count for nobody",
        at("DeletedLimits.#judge", "!exceeded || !most || all - before < toleratedBytes"),
        "true",
      ],
    ],
  ),
  ...faults(
    "src/runs/storage/storage-areas.ts",
    ["src/runs/storage/storage-areas.test.ts"],
    [
      [
        "each directory of a person is compared with each one that runs mount",
        at("reachesAny", "return (directory) => around.has(directory)"),
        // biome-ignore lint/suspicious/noTemplateCurlyInString: code
        "return (directory) => areas.some((area) => area === directory || area.startsWith(`${directory}/`))",
      ],
    ],
  ),
  ...faults(
    "src/files/storage/scan.ts",
    ["src/files/storage/storage.integration.test.ts"],
    [
      ["files of other people count for the directory's owner", at("StorageScan.#walk", 'if (mark?.kind !== "excluded") yield*'), "yield*"],
      ["deeply nested files are not counted", at("StorageScan.#deep", "yield* deep.steps()"), ""],
      ["datasets in a home are not counted separately", at("StorageScan.#walk", 'if (mark?.kind === "subArea") next.area'), "const unused"],
    ],
  ),
  ...faults(
    "src/files/tree/directory-handle.ts",
    ["src/files/storage/storage.integration.test.ts"],
    [
      [
        "directories without read permission hide what is stored in them",
        at("DirectoryHandle.openReadable", "stats?.isDirectory()"),
        "false",
      ],
    ],
  ),
  ...faults(
    "src/files/storage/counter-thread.ts",
    ["src/files/storage/storage.integration.test.ts"],
    [["a large count delays small ones", at("maxRunning"), "1"]],
  ),
  ...faults(
    "src/runs/storage/storage-enforcer.ts",
    ["src/runs/storage/storage-enforcer.test.ts"],
    [
      ["a guest's run ends for what the owner's stores", at("leadsTo", "&& enclosingArea(source, boundaries) === area"), ""],
      ["no run is ended for its storage", at("StorageEnforcer.#endGrower", "if (!found || found.bytes < toleratedBytes)"), ""],
      [
        "a changed limit of a person without a run reaches the kernel late",
        at("StorageEnforcer.#applyChanges", "await this.#quotas.changedPeople(changes)"),
        "owners",
      ],
      ["a nearly full disk ends nobody's run", at("StorageEnforcer.#makeRoom", "if (!space.isLow)"), ""],
      [
        "runs that hide what they write end one by one",
        at("StorageEnforcer.#makeRoom", "this.#endUnmeasured(hidden, found.run.userId, numbers)"),
        "this.#end(found.run, numbers + found.unknown)",
      ],
      [
        "a run that deletes what it has open fills the disk, and another is ended",
        at("StorageEnforcer.#mostHidden", "bytes: inDeleted(run.key)"),
        "bytes: 0",
      ],
      ["a run that grew little is ended for the one that grew most", at("mostGrown", "b.bytes - a"), "a.bytes - b"],
    ],
  ),
  ...faults(
    "src/api/disk-reserve.ts",
    ["test/api/full-disk.test.ts"],
    [["a full disk prevents disabling a person", at("mayUseDiskReserve"), 'return method === "DELETE" || false']],
  ),
  ...faults(
    "src/events/events.ts",
    ["test/api/sessions.test.ts"],
    [["ending no sessions is recorded", at("accessEvents", "if (sessions.length === 0) return"), ""]],
  ),
  ...faults(
    "src/access/credentials/sessions.ts",
    ["test/api/full-disk.test.ts"],
    [
      ["a full disk prevents signing in", at("createSessions.tryUseReserve", "known.count <= urgentSignIns.value"), "false"],
      ["sign-ins use up the disk reserve", at("createSessions.tryUseReserve", "known.count <= urgentSignIns.value"), "true"],
    ],
  ),
  ...faults(
    "src/files/failures.ts",
    ["src/files/staging/file-systems.test.ts"],
    [["a full disk of the files is reported as an internal error", at("byErrno", "ENOSPC: full,"), ""]],
  ),
  ...faults(
    "src/files/process/worker-process.ts",
    ["src/files/process/worker.integration.test.ts"],
    [
      [
        "each request while the database is away is logged as a fault",
        at("WorkerProcess.#replyWith.failed", "if (!(error instanceof Failure))"),
        "",
      ],
      [
        "each question whether the file server lives takes memory until its end",
        at("WorkerProcess.ping", "return promise.finally"),
        "return Promise.race([promise, this.ended.then(() => false)]).finally",
      ],
    ],
  ),
  ...faults(
    "src/files/methods/receive-body.ts",
    ["src/files/staging/file-systems.test.ts"],
    [
      [
        "an upload that did not fit counts as complete",
        at("BodyReceiver.#writeWaiting", "if (error) this.#failure ??= error"),
        "void error",
      ],
    ],
  ),
  ...faults(
    "src/files/staging/staging-area.ts",
    ["src/files/staging/staging-area.integration.test.ts", "src/files/staging/file-systems.test.ts"],
    [["the remains of a killed worker stay", at("StagingArea.#sweepNow", "!hasProcessEnded(name) &&"), ""]],
  ),
  ...faults(
    "src/files/staging/staging-area.ts",
    ["src/files/methods/upload.test.ts"],
    [
      [
        "a program guesses the next names beside files, and no upload gets one",
        at("StagingArea.#createBeside", 'randomBytes(12).toString("hex")'),
        "this.#nextName()",
      ],
    ],
  ),
  ...faults(
    "src/files/staging/staging-area.ts",
    ["src/files/staging/file-systems.test.ts"],
    [
      [
        "the file server does not start on a full disk",
        at("StagingArea.#makeUnlessFull", "if (!isFull(error)) throw error"),
        "throw error",
      ],
      ["nobody can make room on a full disk", at("StagingArea.#folderFor", "if (isFull(error)) return own.duplicate()"), ""],
    ],
  ),
  ...faults(
    "src/files/properties/log-file.ts",
    ["src/files/properties/dead-properties.test.ts"],
    [
      [
        "a rejected change is stored partially",
        at("LogFile.append", "await this.#removeTornEnd().catch(() => {})"),
        "this.#isTorn = false",
      ],
      [
        "a part of a rejected change stays if it cannot be removed at once",
        at("LogFile.append", "if (this.#isTorn) await this.#removeTornEnd()"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/files/properties/property-log.ts",
    ["src/files/properties/dead-properties.test.ts"],
    [
      [
        "a log that could not be written takes room",
        at("NextLog.[Symbol.asyncDispose]", "await this.#reserved.unlink(this.#name).catch(() => {})"),
        "{}",
      ],
      ["a compaction undoes what a rewritten log has", at("PropertyLog.rewrite", "await this.#close()"), ""],
      [
        "one person's changes of properties are all made before another's",
        at("PropertyLog.acquire", "stack.use(await this.#turnsOfPeople.acquire(String(person)))"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/files/properties/dead-properties.ts",
    ["src/files/properties/dead-properties.test.ts"],
    [
      [
        "a change that succeeded on a full disk is reported as failed",
        at("DeadProperties.#applyEvenIfFull", 'if (fileFailure(error)?.code !== "storage_full")'),
        "",
      ],
      ["log lines delayed by a full disk are lost", at("DeadProperties.#applyEvenIfFull", "this.#isBehind = true"), ""],
      ["a move misses properties that are just stored", at("DeadProperties.move", "using _lock = await this.#lock(path, to)"), ""],
    ],
  ),
  ...faults(
    "src/engine/docker/mounts/mount-pins.ts",
    ["src/engine/docker/mounts/mount-pins.integration.test.ts"],
    [
      [
        "the server does not start on a full disk",
        at("MountPins.assertCanMount", "if (isFull(cause)) return void"),
        "if (false) return void",
      ],
      ["a start that the disk has no room for has no reason", at("MountPins.pin", "throw isFull(error) ?"), "throw false ?"],
    ],
  ),
  ...faults(
    "src/files/staging/trash.ts",
    ["src/files/staging/staging-area.integration.test.ts"],
    [
      [
        "the oldest deleted directory is forgotten",
        at("Trash.move", "if (count >= maxDirectories)"),
        "for (const oldest of this.#directories.keys()) if (count >= maxDirectories) return this.delete(oldest)\n    if (Math.random() > 1)",
      ],
    ],
  ),
  ...faults(
    "src/files/staging/staging-area.ts",
    ["src/files/staging/staging-area.integration.test.ts"],
    [
      [
        "one person's deleted directories use all retries",
        at("StagingArea.#mayRetry", "own.length < maxRetriedOfOwner && this.#undeletable.size < maxRetried"),
        "this.#undeletable.size < 100",
      ],
      [
        "an entry that a program makes ends a replacement, and the old one is lost",
        at("StagingArea.#moveOver", "attempt === maxMoves"),
        "attempt > 0",
      ],
      [
        "a replaced directory that cannot be restored stays in the trash, where nobody counts it",
        at("StagingArea.replace", "void this.#emptyTrash(trash)"),
        "trash.release()",
      ],
      [
        "a directory that a program kept changing is never deleted",
        at("StagingArea.#retryLater", "this.#afterOthers(() => this.#retry()).catch(this.#report)"),
        "{}",
      ],
    ],
  ),
  ...faults(
    "src/files/uploads/tus.ts",
    ["src/files/uploads/tus.test.ts"],
    [
      ["a piece lands anywhere", at("receive", "if (given !== offset)"), "if (given < 0)"],
      ["a resumable upload is in place before it is flushed", at("receive", ".finally(() => upload.flush(userId))"), ""],
      ["an upload has any number of bytes", at("receive", "if (left < 0) throw"), "if (left === null) throw"],
    ],
  ),
  ...faults(
    "src/files/uploads/upload-store.ts",
    ["src/files/uploads/tus.test.ts"],
    [
      [
        "an upload goes to another path than its own",
        at("UploadStore.#assertExists", "readFacts(own, id)?.path !== path"),
        "readFacts(own, id) === undefined",
      ],
      ["a person has any number of uploads", at("assertMayBegin", "if (count >= maxUploads)"), "if (count < 0)"],
      ["a new request waits for a connection that was lost", at("UploadStore.open", "other.user.abort()"), ""],
    ],
  ),
  ...faults(
    "src/files/downloads/download-form.ts",
    ["src/files/downloads/archive.tools.test.ts"],
    [["a form takes any token", at("readDownloadForm", '!token.startsWith("qf_")'), "token === null"]],
  ),
  ...faults(
    "src/http/requests/drain.ts",
    ["src/files/requests/limits.test.ts"],
    [
      [
        "a refusal is lost in the reset of its connection",
        at("drainAfterResponse", "replaceDestroySoon(socket, () => socket.end(endIfOver))"),
        "void endIfOver",
      ],
    ],
  ),
  ...faults(
    "src/http/requests/drain.ts",
    ["src/http/requests/drain.test.ts"],
    [
      ["an unwanted body in tiny chunks is drained", at("discard.onData", "|| hasTinyChunks(request)"), ""],
      ["an unwanted body is drained without limit", at("discard.onData", "left < 0 ||"), ""],
      ["a refusal does not wait for what the client has at hand", at("drainBody", "?? 0) < earlyResponseBytes)"), "?? 0) < 0)"],
    ],
  ),
  ...faults(
    "src/runs/lifecycle/run-controller.ts",
    ["src/runs/lifecycle/crash.test.ts"],
    [
      [
        "a program that ended unobserved is started again",
        at("RunController.#launchRun", "if (this.#wasSubmitted && (await this.#stopIfOver(run))) return"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/engine/docker/docker-engine.ts",
    ["src/engine/docker/recovery.docker.test.ts"],
    [
      ["mounts of a killed start remain", at("DockerEngine.#observe", "await this.#releaseLeftovers(pinned, runs)"), ""],
      ["recovery removes mounts that a start still needs", at("DockerEngine.#releaseLeftovers", "if (pending.has(key)) continue"), ""],
    ],
  ),
  ...faults(
    "src/engine/docker/observe/container-observer.ts",
    ["src/runs/limits/limit-enforcer.docker.test.ts"],
    [
      [
        "data that runs write to their own file systems is not counted",
        at("ContainerObserver.#placesOf", "[upper, ...volumes]"),
        "volumes",
      ],
    ],
  ),
]
