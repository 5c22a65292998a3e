import { at, faults } from "./mutant.ts"

const suite = ["src/store/store.integration.test.ts"]
const failures = ["src/store/sqlite/failures.test.ts", "src/store/sqlite/full-disk.integration.test.ts"]
const upgrades = ["src/store/sqlite/upgrade.test.ts", "src/store/sqlite/upgrade.integration.test.ts"]

/** What is stored, and what lists hold. */
export const store = [
  ...faults(
    "src/store/lists/scan-limiter.ts",
    ["src/store/sqlite/scan-worker.integration.test.ts"],
    [["one person's searches take all turns", at("ScanLimiter.run", "return await person.semaphore.run(work)"), "return await work()"]],
  ),
  ...faults("src/store/group-commit/writer.ts", suite, [
    [
      "a change that failed is committed with its group",
      at("Writer.#runInSavepoints", "else await tx.rollbackToSavepoint()"),
      "else await tx.release()",
    ],
    ["a change inside a change waits for itself", at("Writer.change", "this.#current.getStore()?.isOpen"), "false"],
    [
      "what follows a change comes before its COMMIT",
      at("Writer.#run", "return { ok: true"),
      "for (const effect of change.effects) effect()\n      return { ok: true",
    ],
    ["the last changes of a store that closes are lost", at("Writer.close", "await this.#running"), ""],
  ]),
  ...faults("src/store/group-commit/writer.ts", failures, [
    ["one change too large takes its group with it", at("Writer.#runGroup", "group.length === 1 || "), "attempt.refused || !"],
  ]),
  ...faults("src/store/group-commit/change-transaction.ts", suite, [
    [
      "work that swallows an error is stored in part",
      at("ChangeTransaction.#send", "this.#broken ??= { error }"),
      "this.#broken ??= undefined",
    ],
    ["a change goes on after its end", at("ChangeTransaction.#send", "if (this.#isOver) throw overError()"), ""],
    ["a change may hold the writer for ever", at("ChangeTransaction.#runBefore", ", late"), ", work === undefined ? late : work(this)"],
  ]),
  ...faults(
    "src/store/fold.ts",
    [...suite, "src/store/fold.test.ts"],
    [
      ["a search cares about case", at("fold", ").toLowerCase().toUpperCase().toLowerCase("), ""],
      ["what is searched has no bound", at("searchText", "folded.length <= searchedLength"), "folded.length > 0"],
      ["a key ends within a pair of surrogates", at("indexKey", "last >= 0xd800 && last < 0xdc00 ? keyLength - 1 :"), ""],
    ],
  ),
  ...faults("src/store/lists/plan.ts", suite, [
    [
      "a stranger sees what a person has not published",
      at("ofResources", "if (published !== true && !isStranger)"),
      "if (published !== true)",
    ],
    ["what is seen by group and by owner counts twice", at("ofResources", ": own"), ": []"],
    ["IsPublish=1 lists what is private too", at("ofResources", "if (published !== true && !isStranger)"), "if (!isStranger)"],
    ["somebody sees all ended runs", at("ofRuns", "&& viewer.seesAll"), ""],
    [
      "somebody sees the ended runs of others by their name",
      at("ofRuns", "if (!viewer.seesAll && owner !== viewer.userId) return undefined"),
      "",
    ],
    ["a filter that no counter knows is left out", at("planList", "if (where.size > 0) return undefined"), ""],
  ]),
  ...faults("src/store/lists/list.ts", suite, [
    ["everybody sees everybody's rows", at("addViewer", "(viewer"), "(!viewer"],
    ["the bin of all is shown to each", at("addViewer", '"own"'), '"all"'],
    ["a page past the end shows the last one", at("isPast"), "return page * pageSize > total + 1_000"],
    ["a page near the end comes in the wrong order", at("scannedPage", "fromEnd ? values.reverse() :"), ""],
  ]),
  ...faults("src/store/lists/blocks.ts", suite, [
    [
      "a page far from both ends begins a row too early",
      at("locateWindow", "before: offset - skipped,"),
      "before: Math.max(0, offset - skipped - 1),",
    ],
    ["a page that spans blocks lacks its last rows", at("locateWindow", "+ limit"), ""],
    [
      "blocks of rows that lie unevenly are too few for the page",
      at("findBlockRange", "if (sum(counts) < wanted)"),
      "if (counts.length === 0)",
    ],
  ]),
  ...faults(
    "src/store/lists/search.ts",
    ["test/attacks/searches.test.ts"],
    [["the index compares where trigrams stand", at("trigramsOf", "minCharacters).join"), "minCharacters + 60).join"]],
  ),
  ...faults(
    "src/store/lists/pages.ts",
    ["src/store/sqlite/scan-worker.integration.test.ts"],
    [["searches in small tables hold everybody up", at("scanRunnerFor", "> maxComparisonsInline"), "> maxRowsInline"]],
  ),
  ...faults("src/store/lists/pages.ts", suite, [
    ["ascending lists come descending", at("readPlannedPage", "wanted.sort.descending ? rows : rows.reverse()"), "rows"],
    [
      "rows in several classes are counted in each",
      at("readPlannedTotal", "return counted - countedTwice + granted.length"),
      "return counted + granted.length",
    ],
  ]),
  ...faults(
    "src/store/migrations/0002-counters.ts",
    [...suite, ...upgrades],
    [
      ["what is deleted stays counted", at("triggers", 'count(table, "old")]'), "]"],
      ["rows from before an upgrade are not counted", at("counters.statements", "...counted.flatMap(fill),"), ""],
      ["a publication does not move a row to another class", at("triggers", 'count(table, "old"),'), ""],
    ],
  ),
  ...faults(
    "src/store/repositories/resource.ts",
    [...suite, "test/api/writing.test.ts"],
    [
      ["a change leaves the time of the last one", at("StampedRows.update", "this.clock.now()"), "row.updatedAt"],
      ["a restored row stays deleted", at("StampedRows.setDeleted", "deleted_at: deleted ? now : null"), "deleted_at: now"],
      [
        "a name that is taken is given again",
        at("StampedRows.insert", 'throw new DuplicateError(uniqueNames[this.table.name === "groups" ? "groups" : "users"'),
        "return this.table.toRow([",
      ],
    ],
  ),
  ...faults(
    "src/store/sqlite/open.ts",
    [...upgrades, ...failures],
    [
      ["a database of a newer version is opened", at("versionOf", "<= newestVersion"), "> 0"],
      ["a database of another program is taken over", at("versionOf", '!== "version,name,applied_at"'), "=== undefined"],
      ["a database is migrated without a copy", at("migrate", "if (version > 0) makeSafetyCopy(writer, { ...options, version })"), ""],
      [
        "two servers open one database",
        at("acquireLock", '"pragma journal_mode = memory; begin exclusive"'),
        '"pragma journal_mode = memory"',
      ],
      ["a migration that failed is kept in part", at("migrate", '"rollback"'), '"commit"'],
      ["a commit is acknowledged before it is on the disk", at("logPragmas", "pragma synchronous = full"), "pragma synchronous = normal"],
      ["others may read the database", at("makeFile", 'closeSync(openSync(file, "a", 0o600))'), 'closeSync(openSync(file, "a", 0o644))'],
    ],
  ),
  ...faults("src/store/sqlite/safety-copy.ts", upgrades, [
    ["a damaged copy is taken for a good one", at("verify", 'if (result !== "ok") throw'), "if (result === undefined) throw"],
    ["half a copy is left where the disk is full", at("makeSafetyCopy", "rmSync(half, { force: true })\n    throw"), "throw"],
  ]),
  ...faults("src/store/group-commit/writer.ts", failures, [
    ["what is urgent gets no room on a full disk", at("Writer.#freesReserve"), "return false"],
    [
      "everybody gets the room that is kept back",
      at("Writer.#freesReserve", "urgent && isStorageFull(error) &&"),
      "isStorageFull(error) &&",
    ],
    [
      "what is left of the room that was given up is everybody's",
      at("Writer.#admit", "this.#driver.reserve?.restore() ?? true"),
      "Math.random() <= 1",
    ],
  ]),
  ...faults("src/store/sqlite/disk-reserve.ts", failures, [
    [
      "room that was given up is not kept back again",
      at("DiskReserve.restore", "while (!this.#isWhole && this.#grow(this.#wanted - this.#size)) {}"),
      "this.#wanted = 0",
    ],
    [
      "others read what takes the room",
      at("DiskReserve.constructor", 'openSync(this.#path, "a", 0o600)'),
      'openSync(this.#path, "a", 0o644)',
    ],
  ]),
  ...faults("src/store/sqlite/open.ts", failures, [
    ["no server starts on a full disk", at("retryWithReserve", "if (!isFull(error) || !reserve.release())"), ""],
  ]),
  ...faults("src/store/sqlite/driver.ts", failures, [
    ["statements after a full disk commit by themselves", at("SqliteTransaction.beforeStatement"), ""],
    ["a writer that is in the way refuses at once", at("SqliteDriver.begin", "waited >= this.#parts.busyTimeoutMs"), "waited >= 0"],
  ]),
  ...faults("src/store/sqlite/errors.ts", failures, [
    ["a full disk is a fault of the program", at("failureOf", "codes.full"), "9_999"],
    ["damage is a fault of the program", at("failureOf", "codes.corrupt:\n    case codes.notadb"), "9_999"],
  ]),
]
