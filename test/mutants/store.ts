import { faults } from "./mutant.ts"

const suite = ["src/store/store.integration.test.ts"]
const failures = ["src/store/sqlite/failures.test.ts", "src/store/sqlite/full-disk.integration.test.ts"]
const upgrades = ["src/store/sqlite/upgrade.test.ts", "src/store/sqlite/upgrade.integration.test.ts"]

/** What is stored, and what lists hold. */
export const store = [
  ...faults(
    "src/store/lists/scan-limiter.ts",
    ["src/store/sqlite/scanner.integration.test.ts"],
    [["one person's searches take all turns", "return await person.semaphore.run(work)", "return await work()"]],
  ),
  ...faults("src/store/writer.ts", suite, [
    ["a change that failed is committed with its group", "else await tx.rollbackToSavepoint()", "else await tx.release()"],
    ["a change inside a change waits for itself", "if (this.#current.getStore()?.open) return", "if (false) return"],
    [
      "what follows a change comes before its COMMIT",
      "return { ok: true, value, effects: member.effects }",
      "for (const effect of member.effects) effect()\n      return { ok: true, value, effects: member.effects }",
    ],
    ["the last changes of a store that closes are lost", "this.#closed = true\n    await this.#running", "this.#closed = true"],
  ]),
  ...faults("src/store/writer.ts", failures, [
    [
      "one change too large takes its group with it",
      "const ends = group.length === 1 || attempt.refused",
      "const ends = attempt.refused || !attempt.refused",
    ],
  ]),
  ...faults("src/store/group-member.ts", suite, [
    ["work that swallows an error is stored in part", "this.#broken ??= { error }", "this.#broken ??= undefined"],
    [
      "a change goes on after its end",
      "async #do<T>(statement: () => Promise<T>): Promise<T> {\n    if (this.#over) throw overError()",
      "async #do<T>(statement: () => Promise<T>): Promise<T> {",
    ],
    [
      "a change may hold the writer for ever",
      "return await Promise.race([work(this), late])",
      "return await Promise.race([work(this), work === undefined ? late : work(this)])",
    ],
  ]),
  ...faults(
    "src/store/fold.ts",
    [...suite, "src/store/fold.test.ts"],
    [
      [
        "a search cares about case",
        'return text.normalize("NFKC").toLowerCase().toUpperCase().toLowerCase()',
        'return text.normalize("NFKC")',
      ],
      ["what is searched has no bound", "folded.length <= searchedLength", "folded.length > 0"],
      ["a key ends within a pair of surrogates", "last >= 0xd800 && last < 0xdc00 ? keyLength - 1 : keyLength", "keyLength"],
    ],
  ),
  ...faults("src/store/lists/plan.ts", suite, [
    ["a stranger sees what a person has not published", "if (published !== true && !isStranger)", "if (published !== true)"],
    [
      "what is seen by group and by owner counts twice",
      "plus: [...plus, ...ofGroups], minus: own,",
      "plus: [...plus, ...ofGroups], minus: [],",
    ],
    ["IsPublish=1 lists what is private too", "if (published !== true && !isStranger)", "if (!isStranger)"],
    ["somebody sees all ended runs", "if (owner === undefined && viewer.everything)", "if (owner === undefined)"],
    ["somebody sees the ended runs of others by their name", "if (!viewer.everything && owner !== viewer.userId) return undefined", ""],
    ["a filter that no counter knows is left out", "if (where.size > 0) return undefined", ""],
  ]),
  ...faults("src/store/lists/list.ts", suite, [
    ["everybody sees everybody's rows", 'if (viewer.everything || table === "users"', 'if (!viewer.everything || table === "users"'],
    [
      "the bin of all is shown to each",
      'shape.sees = shape.part === "deleted" ? "own" : "visible"',
      'shape.sees = shape.part === "deleted" ? "all" : "visible"',
    ],
    ["a page past the end shows the last one", "return (page - 1) * pageSize >= total", "return page * pageSize > total + 1_000"],
    ["a page near the end comes in the wrong order", "return fromEnd ? values.reverse() : values", "return values"],
  ]),
  ...faults("src/store/lists/blocks.ts", suite, [
    ["a page far from both ends begins a row too early", "before: offset - skipped,", "before: Math.max(0, offset - skipped - 1),"],
    [
      "a page that spans blocks lacks its last rows",
      "while (last < counts.length - 1 && reached < offset + limit)",
      "while (last < counts.length - 1 && reached < offset)",
    ],
    ["blocks of rows that lie unevenly are too few for the page", "if (sum(counts) < wanted)", "if (counts.length === 0)"],
  ]),
  ...faults(
    "src/store/lists/search.ts",
    ["test/attacks/searches.test.ts"],
    [["the index compares where trigrams stand", "minCharacters).join", "minCharacters + 60).join"]],
  ),
  ...faults(
    "src/store/lists/pages.ts",
    ["src/store/sqlite/scanner.integration.test.ts"],
    [["searches in small tables hold everybody up", "> maxComparisonsInline", "> maxRowsInline"]],
  ),
  ...faults("src/store/lists/pages.ts", suite, [
    ["ascending lists come descending", "return wanted.sort.descending ? rows : rows.reverse()", "return rows"],
    ["rows in several classes are counted in each", "return most - twice + granted.length", "return most + granted.length"],
  ]),
  ...faults(
    "src/store/migrations/0002-counters.ts",
    [...suite, ...upgrades],
    [
      ["what is deleted stays counted", 'act: [count(table, "old")] },\n    { event: `update', "act: [] },\n    { event: `update"],
      ["rows from before an upgrade are not counted", "...counted.flatMap(fill),\n", ""],
      [
        "a publication does not move a row to another class",
        'act: [count(table, "old"), count(table, "new")] }',
        'act: [count(table, "new")] }',
      ],
    ],
  ),
  ...faults(
    "src/store/repositories/resource.ts",
    [...suite, "test/api/writing.test.ts"],
    [
      [
        "a change leaves the time of the last one",
        "{ ...columns, id, updated_at: this.clock.now() }",
        "{ ...columns, id, updated_at: row.updatedAt }",
      ],
      ["a restored row stays deleted", "deleted_at: deleted ? now : null", "deleted_at: now"],
      [
        "a name that is taken is given again",
        'throw new DuplicateError(uniqueNames[this.table.name === "groups" ? "groups" : "users"])',
        "return this.table.toRow([])",
      ],
    ],
  ),
  ...faults(
    "src/store/sqlite/open.ts",
    [...upgrades, ...failures],
    [
      ["a database of a newer version is opened", "if (version <= newestVersion) return version", "if (version > 0) return version"],
      ["a database of another program is taken over", 'if (ours !== "version,name,applied_at") throw', "if (ours === undefined) throw"],
      ["a database is migrated without a copy", "if (version > 0) makeSafetyCopy(writer, { ...options, version })", ""],
      [
        "two servers open one database",
        'db.exec("pragma journal_mode = memory; begin exclusive")',
        'db.exec("pragma journal_mode = memory")',
      ],
      [
        "a migration that failed is kept in part",
        'if (writer.isTransaction) writer.exec("rollback")',
        'if (writer.isTransaction) writer.exec("commit")',
      ],
      ["a commit is acknowledged before it is on the disk", "pragma synchronous = full", "pragma synchronous = normal"],
      ["others may read the database", 'closeSync(openSync(file, "a", 0o600))', 'closeSync(openSync(file, "a", 0o644))'],
    ],
  ),
  ...faults("src/store/sqlite/safety-copy.ts", upgrades, [
    ["a damaged copy is taken for a good one", 'if (result !== "ok") throw', "if (result === undefined) throw"],
    [
      "half a copy is left where the disk is full",
      "    rmSync(half, { force: true })\n    throw new StoreError",
      "    throw new StoreError",
    ],
  ]),
  ...faults("src/store/writer.ts", failures, [
    ["what is urgent gets no room on a full disk", "urgent && isStorageFull(error) && (this.#driver.reserve?.release() ?? false)", "false"],
    ["everybody gets the room that is kept back", "urgent && isStorageFull(error) &&", "isStorageFull(error) &&"],
    [
      "what is left of the room that was given up is everybody's",
      "if (this.#driver.reserve?.restore() ?? true) return waiting",
      "if (Math.random() <= 1) return waiting",
    ],
  ]),
  ...faults("src/store/sqlite/disk-reserve.ts", failures, [
    [
      "room that was given up is not kept back again",
      "while (!this.#isWhole && this.#grow(this.#wanted - this.#size)) {}",
      "this.#wanted = 0",
    ],
    ["others read what takes the room", 'openSync(this.#path, "a", 0o600)', 'openSync(this.#path, "a", 0o644)'],
  ]),
  ...faults("src/store/sqlite/open.ts", failures, [
    ["no server starts on a full disk", "if (!isFull(error) || !reserve.release()) throw error", "throw error"],
  ]),
  ...faults("src/store/sqlite/driver.ts", failures, [
    ["statements after a full disk commit by themselves", "if (!this.db.isTransaction) throw this.lost()", ""],
    ["a writer that is in the way refuses at once", "waited >= this.#parts.busyTimeoutMs", "waited >= 0"],
  ]),
  ...faults("src/store/sqlite/errors.ts", failures, [
    [
      "a full disk is a fault of the program",
      "    case codes.full:\n      return new Failure",
      "    case 9_999:\n      return new Failure",
    ],
    [
      "damage is a fault of the program",
      "    case codes.corrupt:\n    case codes.notadb:\n      return new Failure",
      "    case 9_999:\n      return new Failure",
    ],
  ]),
]
