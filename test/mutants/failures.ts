import { faults } from "./mutant.ts"

/** What holds when a disk is full or a process is killed at any moment. */
export const failures = [
  ...faults(
    "src/store/sqlite/errors.ts",
    ["test/api/full-disk.test.ts"],
    [
      [
        "a full disk of the database is reported as an internal error",
        'return new Failure("storage_full", "The disk that holds the database is full", { cause: error })',
        "return error",
      ],
    ],
  ),
  ...faults(
    "src/files/storage/ledger.ts",
    ["src/files/storage/storage.integration.test.ts"],
    [
      ["uploads are not limited", "if (quota.maxBytes !== null && used + bytes > quota.maxBytes)", "if (false)"],
      ["uploads at the same time are not counted together", "entry.written + entry.reserved)", "entry.written)"],
      ["a body without a length is not counted", "this.#held?.assertFits(this.#beyondFree(bytes), this.#written + bytes)", ""],
      ["several saves of a file at a time take no room", "|| replacing.has(id)", ""],
      ["uploads take the last room of the disk", "assertDiskSpace(directory, bytes, this.#settings)", ""],
    ],
  ),
  ...faults(
    "src/files/storage/scan.ts",
    ["src/files/storage/storage.integration.test.ts"],
    [
      ["files of other people count for the directory's owner", 'if (mark?.kind !== "excluded") yield*', "yield*"],
      ["deeply nested files are not counted", "yield* deep.steps()", ""],
      ["datasets in a home are no areas of their own", 'if (mark?.kind === "subArea") next.area =', "const unused ="],
    ],
  ),
  ...faults(
    "src/files/storage/counter-thread.ts",
    ["src/files/storage/storage.integration.test.ts"],
    [["a large count keeps small ones waiting", "const maxRunning = 32", "const maxRunning = 1"]],
  ),
  ...faults(
    "src/runs/storage/storage-enforcer.ts",
    ["src/runs/storage/storage-enforcer.test.ts"],
    [
      ["a guest's run ends for what the owner's stores", " && enclosingArea(source, boundaries) === area", ""],
      ["no run is ended for its storage", "if (!found || found.bytes < toleratedBytes) return", "return"],
      ["a nearly full disk ends nobody's run", "if (!room.isLow) return\n    const stored", "return\n    const stored"],
      [
        "a run that grew little is ended for the one that grew most",
        "reached.sort((a, b) => b.bytes - a.bytes)",
        "reached.sort((a, b) => a.bytes - b.bytes)",
      ],
    ],
  ),
  ...faults(
    "src/api/urgent.ts",
    ["test/api/full-disk.test.ts"],
    [["a full disk keeps an administrator from disabling", "(caller?.isAdmin === true && administrative.has(operation))", "false"]],
  ),
  ...faults(
    "src/access/credentials/sessions.ts",
    ["test/api/full-disk.test.ts"],
    [
      ["a full disk keeps people from signing in", "return known.count <= urgentSignIns.value", "return false"],
      ["somebody signs in until nothing is kept back", "return known.count <= urgentSignIns.value", "return true"],
    ],
  ),
  ...faults(
    "src/files/failures.ts",
    ["src/files/staging/file-systems.test.ts"],
    [["a full disk of the files is told as a fault of the program", "  ENOSPC: full,\n", ""]],
  ),
  ...faults(
    "src/files/process/worker-process.ts",
    ["src/files/process/worker.integration.test.ts"],
    [["each request while the database is away is logged as a fault", "if (!(error instanceof Failure)) this.#options", "this.#options"]],
  ),
  ...faults(
    "src/files/methods/receive-body.ts",
    ["src/files/staging/file-systems.test.ts"],
    [["an upload that did not fit counts as whole", "if (error) this.#failure ??= error", "void error"]],
  ),
  ...faults(
    "src/files/staging/staging-area.ts",
    ["src/files/staging/staging-area.integration.test.ts", "src/files/staging/file-systems.test.ts"],
    [["what a killed worker left stays", "(hasProcessEnded(name) || age > abandonedMs)", "(age > abandonedMs)"]],
  ),
  ...faults(
    "src/files/staging/staging-area.ts",
    ["src/files/staging/file-systems.test.ts"],
    [
      ["the file server does not come up on a full disk", "if (!isFull(error)) throw error", "throw error"],
      ["nobody can make room on a full disk", "if (isFull(error) && parent.lstat(name)?.isFile()) return undefined", ""],
    ],
  ),
  ...faults(
    "src/files/properties/dead-properties.ts",
    ["src/files/properties/dead-properties.test.ts"],
    [
      ["a rejected change is stored in part", "    ftruncateSync(fd, size)\n", ""],
      ["a log that could not be written takes room", "ignoreErrors(() => unlinkSync(", "ignoreErrors(() => void ("],
      [
        "a change that succeeded on a full disk is reported as failed",
        'if (fileFailure(error)?.code !== "storage_full") throw error',
        "throw error",
      ],
      ["log lines delayed by a full disk are lost", "this.#isBehind = true", ""],
    ],
  ),
  ...faults(
    "src/engine/docker/mounts/mount-pins.ts",
    ["src/engine/docker/mounts/mount-pins.integration.test.ts"],
    [
      ["the server does not come up on a full disk", "if (isFull(cause)) return void", "if (false) return void"],
      ["a start that the disk has no room for has no reason", "throw isFull(error) ?", "throw false ?"],
    ],
  ),
  ...faults(
    "src/files/staging/staging-area.ts",
    ["src/files/staging/staging-area.integration.test.ts"],
    [
      [
        "what a program kept changing stays when it is gone",
        "() => this.#afterOthers(() => this.#retry()).catch(this.#report)",
        "() => {}",
      ],
    ],
  ),
  ...faults(
    "src/http/requests/drain.ts",
    ["src/files/requests/limits.test.ts"],
    [["a refusal is lost in the reset of its connection", "replaceDestroySoon(socket, () => socket.end(endIfOver))", "void endIfOver"]],
  ),
  ...faults(
    "src/http/requests/drain.ts",
    ["src/http/requests/drain.test.ts"],
    [
      ["what nobody wants is taken piece by piece", " || hasTinyChunks(request)", ""],
      ["what nobody wants is taken without end", "left < 0 || ", ""],
      ["a refusal does not wait for what the client has at hand", "?? 0) < answerBefore)", "?? 0) < 0)"],
    ],
  ),
  ...faults(
    "src/runs/lifecycle/run-controller.ts",
    ["src/runs/lifecycle/crash.test.ts"],
    [["a program that ended while nobody looked is started again", "if (this.#wasSubmitted && (await this.#hasExited(run))) return\n", ""]],
  ),
  ...faults(
    "src/engine/docker/docker-engine.ts",
    ["src/engine/docker/recovery.docker.test.ts"],
    [
      ["mounts of a killed start remain", "await this.#releaseLeftovers(pinned, runs)", ""],
      ["recovery removes mounts that a start still needs", "if (pending.has(key)) continue\n", ""],
    ],
  ),
  ...faults(
    "src/engine/docker/observe/container-observer.ts",
    ["src/runs/limits/limit-enforcer.docker.test.ts"],
    [["what runs wrote to their own file systems is not seen", "(sizes.get(path) ?? 0), SizeRw)", "(sizes.get(path) ?? 0), 0)"]],
  ),
]
