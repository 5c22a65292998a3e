import { at, faults } from "./mutant.ts"

const suite = ["src/store/store.integration.test.ts"]
const failures = ["src/store/sqlite/failures.test.ts", "src/store/sqlite/full-disk.integration.test.ts"]
const flushes = ["src/store/sqlite/write-ahead-log.test.ts"]
const upgrades = ["src/store/sqlite/upgrade.test.ts", "src/store/sqlite/upgrade.integration.test.ts"]

/** Stored rows and the content of lists. */
export const store = [
  ...faults(
    "src/store/sqlite/search-indexer.ts",
    ["src/store/sqlite/search-indexer.integration.test.ts"],
    [["a transaction indexes texts of any length together", "const maxCharacters = 4_000", "const maxCharacters = 4_000_000"]],
  ),
  ...faults(
    "src/store/migrations/0020-search-writes.ts",
    ["src/store/postgres/search-index.postgres.test.ts"],
    [["one change moves the words of thousands into PostgreSQL's index", "set (fastupdate = off)", "set (fastupdate = on)"]],
  ),
  ...faults("src/store/queries/grants.ts", suite, [
    ["the grants of one person are searched for among everybody's", at("grantVisibility", "user_id <> 0 and user_id"), "user_id"],
  ]),
  ...faults("src/store/queries/grants.ts", suite, [
    ["all grants of a viewer are read for each path", at("isGranted", "thing_id = "), "+thing_id = "],
  ]),
  ...faults("src/store/queries/datasets.ts", suite, [
    ["a granted dataset is not found among hundreds", at("datasetQueries", "sql<boolean>`n = "), "sql<boolean>`n > "],
  ]),
  ...faults(
    "src/store/queries/datasets.ts",
    ["src/store/postgres/granted-datasets.postgres.test.ts"],
    [["each dataset below a path is compared with each grant of a viewer", at("datasetQueries", " or 1 = 0"), ""]],
  ),
  ...faults(
    "src/store/migrations/0019-long-texts-last.ts",
    ["src/store/tables/table.test.ts"],
    [["lists read the pages of long texts for the columns behind them", '"code_path", "model_path", "doc"]', '"code_path", "model_path"]']],
  ),
  ...faults(
    "src/store/postgres/driver.ts",
    ["src/store/postgres/shared-reads.postgres.test.ts"],
    [
      [
        "one person's reads use all connections to PostgreSQL",
        at("PostgresDriver.#readInTurn", 'reader === undefined ? "" : String(reader)'),
        '""',
      ],
    ],
  ),
  ...faults(
    "src/store/postgres/query-runner.ts",
    ["src/store/postgres/query-runner.test.ts"],
    [["one person's filters use up the names of everybody's statements", at("StatementNames.of", "isFiltered(query)"), "false"]],
  ),
  ...faults("src/store/queries/datasets.ts", suite, [
    ["long texts of datasets are read for each path", at("datasetQueries.datasetsAt", "partColumns"), "rowColumns"],
  ]),
  ...faults(
    "src/store/repositories/datasets.ts",
    ["src/projects/plan/run-plan.test.ts"],
    [["datasets that contain each other are searched again for each of them", "outermost.entries()", "ranges.entries()"]],
  ),
  ...faults(
    "src/store/repositories/datasets.ts",
    ["src/store/repositories/datasets.test.ts"],
    [["a question about a path sends each directory above it", at("keysAbove", "key.length < above.length"), "false"]],
  ),
  ...faults(
    "src/store/repositories/projects.ts",
    ["src/store/repositories/projects.test.ts"],
    [
      [
        "each dataset of a project is stored by a statement of its own",
        at("ProjectRepository.setLinks", "await this.runner.run(addLinks, { project_id: projectId, data_ids, mount_paths })"),
        `for (const i of data_ids.keys()) {
          await this.runner.run(addLinks, { project_id: -1, data_ids: [], mount_paths: [] })
          if (i === 0) await this.runner.run(addLinks, { project_id: projectId, data_ids, mount_paths })
        }`,
      ],
    ],
  ),
  ...faults("src/store/queries/runs.ts", suite, [
    ["a change overwrites what another one wrote", '.where("version", "=", args.known_version)', ""],
    ["a run of a restored backup counts as known", '.where("updated_at", "=", args.known_updated_at)', ""],
  ]),
  ...faults(
    "src/store/postgres/driver.ts",
    ["src/store/postgres/shared-reads.postgres.test.ts"],
    [
      ["a read gets an answer from before it was asked for", at("PostgresDriver.#read", "void this.#waiting.delete(key)"), "undefined"],
      [
        "all of a person's requests that share an answer go on at once",
        at("PostgresDriver.#read", "if (reader !== undefined) await waitForTurn(reader, { length: textLengthOf(result) }, {})"),
        "",
      ],
      ["readers change each other's rows", at("PostgresDriver.#read", "[...result.rows]"), "result.rows"],
    ],
  ),
  ...faults(
    "src/access/credentials/authenticator.ts",
    ["src/access/credentials/reading-strangers.test.ts"],
    [
      [
        "made-up tokens use all connections to PostgreSQL",
        at("Authenticator.#byToken", "readAsAddress(address, () => store.tokens.byHash(sha256(token)))"),
        "store.tokens.byHash(sha256(address === '' ? '' : token))",
      ],
      [
        "made-up sessions use all connections to PostgreSQL",
        at("Authenticator.#bySession", "readAsAddress(address, () => this.#context.store.sessions.byHash(key))"),
        "this.#context.store.sessions.byHash(address === '' ? '' : key)",
      ],
    ],
  ),
  ...faults(
    "src/api/http/fair-reads.ts",
    ["src/api/http/fair-reads.test.ts"],
    [
      [
        "requests that write use all connections to PostgreSQL",
        at("FairReads.runWrite", "this.#inTurn(userId, answer, lane)"),
        "this.#shares.run(userId, answer)",
      ],
      [
        "a thief's reads stand before those that end the stolen credential",
        at("FairReads.#inTurn", 'lane === userId ? undefined : "credentials"'),
        "undefined",
      ],
    ],
  ),
  ...faults(
    "src/store/group-commit/writer.ts",
    ["src/store/postgres/reading-person.test.ts"],
    [
      [
        "what follows everybody's changes reads as whoever began to write them",
        at("Writer.change", "readAsNobody(() => this.#drain())"),
        "this.#drain()",
      ],
    ],
  ),
  ...faults(
    "src/projects/abort-on-revocation.ts",
    ["src/projects/abort-on-revocation.test.ts"],
    [
      [
        "a person's reads delay the end of their rights",
        at("abortOnRevocation", "readAsNobody(() => untilRevoked(context, { caller, signal }, right))"),
        "untilRevoked(context, { caller, signal }, right)",
      ],
    ],
  ),
  ...faults(
    "src/api/control.ts",
    ["src/api/control.test.ts"],
    [
      [
        "requests for control connections use all connections to PostgreSQL",
        at("handleControlUpgrade", 'state().reads.run(caller.userId, "controlRun", load)'),
        "load()",
      ],
      [
        "the first of two Authorization headers counts",
        at("authenticateUpgrade", "if (authorization instanceof AuthenticationFailure) throw authorization"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/api/operation.ts",
    ["src/api/http/reading-strangers.test.ts"],
    [["made-up codes use all connections to PostgreSQL", at("answerInTurn", "readAsAddress(address, answer)"), "answer()"]],
  ),
  ...faults(
    "src/main/files-authority.ts",
    ["src/main/reading-people.test.ts"],
    [
      [
        "questions about rights on files use all connections to PostgreSQL",
        at("createFilesAuthority", "readAsPerson(userId, () => accessOf(userId, paths))"),
        "accessOf(userId, paths)",
      ],
    ],
  ),
  ...faults(
    "src/main/run-directory.ts",
    ["src/main/reading-people.test.ts"],
    [
      [
        "requests for others' runs use all connections to PostgreSQL",
        at("createRunDirectory", "readAsPerson(visitor.userId, () => canOpen(visitor, runId))"),
        "canOpen(visitor, runId)",
      ],
    ],
  ),
  ...faults(
    "src/store/repositories/journal-and-audit.ts",
    ["src/store/sqlite/scan-worker.integration.test.ts"],
    [
      [
        "the audit is counted while everybody waits",
        at("AuditRepository.list", "this.#context.runner.scans?.forUser(userId) ?? this.#context.runner"),
        "userId > 0 ? this.#context.runner : this.#context.runner",
      ],
    ],
  ),
  ...faults(
    "src/store/lists/scan-limiter.ts",
    ["src/store/sqlite/scan-worker.integration.test.ts"],
    [["one person's searches occupy all slots", at("ScanLimiter.run", "return await person.semaphore.run(work)"), "return await work()"]],
  ),
  ...faults("src/store/group-commit/writer.ts", suite, [
    [
      "a failed change is committed with its group",
      at("Writer.#runInSavepoints", "else await tx.rollbackToSavepoint()"),
      "else await tx.release()",
    ],
    ["a change inside a change waits for itself", at("Writer.change", "this.#current.getStore()?.isOpen"), "false"],
    [
      "the effects of a change run before its COMMIT",
      at("Writer.#run", "return { ok: true"),
      "for (const effect of change.effects) effect()\n      return { ok: true",
    ],
    ["a change that goes first waits for the queue", at("Writer.change", "first ? this.#first : this.#queue"), "this.#queue"],
    ["the last changes before a store closes are lost", at("Writer.close", "await this.#running"), ""],
  ]),
  ...faults("src/store/group-commit/writer.ts", failures, [
    ["a change that is too large fails its whole group", at("Writer.#runGroup", "group.length === 1 || "), "attempt.refused || !"],
  ]),
  ...faults("src/store/group-commit/change-transaction.ts", suite, [
    [
      "work that swallows an error is stored partially",
      at("ChangeTransaction.#send", "this.#broken ??= { error }"),
      "this.#broken ??= undefined",
    ],
    ["a change accepts statements after its end", at("ChangeTransaction.#send", "if (this.#isOver) throw overError()"), ""],
    ["a change may block the writer forever", at("ChangeTransaction.#runBefore", ", late"), ", work === undefined ? late : work(this)"],
  ]),
  ...faults(
    "src/store/fold.ts",
    [...suite, "src/store/fold.test.ts"],
    [
      ["a search cares about case", at("fold", ").toLowerCase().toUpperCase().toLowerCase("), ""],
      ["the searched text is unbounded", at("searchText", "folded.length <= searchedLength"), "folded.length > 0"],
      ["a key ends within a pair of surrogates", at("indexKey", "last >= 0xd800 && last < 0xdc00 ? keyLength - 1 :"), ""],
    ],
  ),
  ...faults("src/store/lists/plan.ts", suite, [
    [
      "a stranger sees what a person has not published",
      at("ofResources", "if (published !== true && !isStranger)"),
      "if (published !== true)",
    ],
    ["a row visible by group and by ownership counts twice", at("ofResources", ": own"), ": []"],
    ["IsPublish=1 also lists private objects", at("ofResources", "if (published !== true && !isStranger)"), "if (!isStranger)"],
    ["everybody sees all ended runs", at("ofRuns", "&& viewer.seesAll"), ""],
    [
      "everybody sees the ended runs of others by name",
      at("ofRuns", "if (!viewer.seesAll && owner !== viewer.userId) return undefined"),
      "",
    ],
    ["a filter without a counter is ignored", at("planList", "if (where.size > 0) return undefined"), ""],
  ]),
  ...faults("src/store/lists/list.ts", suite, [
    ["everybody sees everybody's rows", at("addViewer", "(viewer"), "(!viewer"],
    ["everybody sees everybody's deleted objects", at("addViewer", '"own"'), '"all"'],
    ["a page past the end shows the last one", at("isPast"), "return page * pageSize > total + 1_000"],
    ["a page near the end is in the wrong order", at("scannedPage", "fromEnd ? values.reverse() :"), ""],
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
    [
      ["searches in small tables block everybody", at("scanRunnerFor", "> maxComparisonsInline"), "> 10 * maxRowsInline"],
      ["deleted rows are compared while everybody waits", at("scanRunnerFor", 'subset === "deleted"'), 'subset === "ended"'],
      ["thousands of rows are compared while everybody waits", "const maxRowsInline = 2_000", "const maxRowsInline = 20_000"],
    ],
  ),
  ...faults("src/store/lists/pages.ts", suite, [
    ["ascending lists are descending", at("readPlannedPage", "wanted.sort.descending ? rows : rows.reverse()"), "rows"],
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
      ["deleted rows stay counted", at("triggers", 'count(table, "old")]'), "]"],
      ["rows from before an upgrade are not counted", at("countersMigration.statements", "...counted.flatMap(fill),"), ""],
      ["a publication does not move a row to another class", at("triggers", 'count(table, "old"),'), ""],
    ],
  ),
  ...faults(
    "src/store/repositories/resource.ts",
    [...suite, "test/api/writing.test.ts"],
    [
      ["a change leaves the time of the last one", at("StampedRepository.update", "this.clock.now()"), "row.updatedAt"],
      ["a restored row stays deleted", at("StampedRepository.setDeleted", "deleted_at: deleted ? now : null"), "deleted_at: now"],
      [
        "a name in use can be used again",
        at("StampedRepository.insert", 'throw new DuplicateError(uniqueNames[this.table.name === "groups" ? "groups" : "users"'),
        "return this.table.toRow([",
      ],
    ],
  ),
  ...faults(
    "src/store/sqlite/open.ts",
    [...upgrades, ...failures],
    [
      ["a database of a newer version is opened", at("versionOf", "<= newestVersion"), "> 0"],
      ["another program's database is opened", at("versionOf", '!== "version,name,applied_at"'), "=== undefined"],
      ["a database is migrated without a copy", at("migrate", "if (version > 0) makeSafetyCopy(writer, { ...options, version })"), ""],
      [
        "two servers open one database",
        at("acquireLock", '"pragma journal_mode = memory; begin exclusive"'),
        '"pragma journal_mode = memory"',
      ],
      ["a failed migration is partially kept", at("migrate", '"rollback"'), '"commit"'],
      ["a migration is done before it is on the disk", at("logPragmas", "pragma synchronous = full"), "pragma synchronous = normal"],
      ["others may read the database", at("makeFile", 'closeSync(openSync(file, "a", 0o600))'), 'closeSync(openSync(file, "a", 0o644))'],
    ],
  ),
  ...faults("src/store/sqlite/safety-copy.ts", upgrades, [
    ["a damaged copy counts as intact", at("verify", 'if (result !== "ok") throw'), "if (result === undefined) throw"],
    ["a full disk leaves half a copy", at("makeSafetyCopy", "rmSync(half, { force: true })\n    throw"), "throw"],
  ]),
  ...faults("src/store/group-commit/writer.ts", failures, [
    ["urgent changes get no room on a full disk", at("Writer.#releaseReserve"), "return false"],
    ["every change may use the disk reserve", at("Writer.#releaseReserve", "urgent && isStorageFull(error) &&"), "isStorageFull(error) &&"],
    [
      "the rest of the released reserve is open to every change",
      at("Writer.#admit", "this.#driver.reserve?.restore() ?? true"),
      "Math.random() <= 1",
    ],
  ]),
  ...faults("src/store/sqlite/disk-reserve.ts", failures, [
    [
      "a released reserve is not restored",
      at("DiskReserve.restore", "while (!this.isWhole && this.#grow(this.#wanted - this.#size)) {}"),
      "this.#wanted = 0",
    ],
    [
      "others may read the disk reserve",
      at("DiskReserve.constructor", 'openSync(this.#path, "a", 0o600)'),
      'openSync(this.#path, "a", 0o644)',
    ],
  ]),
  ...faults("src/store/sqlite/open.ts", failures, [
    ["no server starts on a full disk", at("retryWithReserve", "if (!isDiskFullError(error) || !reserve.release())"), ""],
  ]),
  ...faults("src/store/sqlite/driver.ts", failures, [
    ["statements after a full disk commit by themselves", at("SqliteTransaction.beforeStatement"), ""],
    ["a change fails at once while another process writes", at("SqliteDriver.begin", "waited >= this.#parts.busyTimeoutMs"), "waited >= 0"],
  ]),
  ...faults("src/store/sqlite/driver.ts", flushes, [
    [
      "a commit is acknowledged before it is on the disk",
      at("SqliteTransaction.commit", "await this.#log.flush()"),
      "void this.#log.flush().catch(() => {})",
    ],
    ["requests read what is not on the disk yet", at("SqliteTransaction.commit", "this.#reads.hold()"), "this.#reads.end()"],
    [
      "requests read what a failed flush did not write",
      at("SqliteTransaction.commit", "await this.#log.flush()"),
      "await this.#log.flush().finally(() => this.#reads.release())",
    ],
    ["changes are committed after a flush that failed", at("SqliteDriver.begin", "this.#log.assertSound()"), ""],
  ]),
  ...faults("src/store/sqlite/write-ahead-log.ts", flushes, [
    [
      "a flush that failed is forgotten",
      at("WriteAheadLog.flush", "throw this.#failure"),
      "const failed = this.#failure\n      this.#failure = undefined\n      throw failed",
    ],
    [
      "the log grows without end",
      at("WriteAheadLog.foldIfLong", "if (log - checkpointed >= foldedPages || log >= maxPages)"),
      "if (log < 0)",
    ],
  ]),
  ...faults("src/store/sqlite/log-folder.ts", flushes, [
    [
      "the log is folded in the event loop",
      at("LogFolder.fold", "thread.postMessage(undefined)"),
      "fold(new DatabaseSync(this.#file), this.#isWriting)\n    thread.postMessage(undefined)",
    ],
    ["the event loop begins a folded log again", at("fold", "writeNothingNew(db)"), ""],
  ]),
  ...faults("src/store/sqlite/errors.ts", failures, [
    ["a full disk is an internal error", at("failureOf", "codes.full"), "9_999"],
    ["a damaged database is an internal error", at("failureOf", "codes.corrupt:\n    case codes.notadb"), "9_999"],
  ]),
]
