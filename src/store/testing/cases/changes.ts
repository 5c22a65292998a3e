import assert from "node:assert/strict"
import { setTimeout as sleep } from "node:timers/promises"
import { Failure } from "#contract"
import { DuplicateError } from "../../errors.ts"
import type { Store } from "../../store.ts"
import { unrestrictedViewer } from "../../viewer.ts"
import { addUser, imageRow, userRow } from "../samples.ts"
import type { Case } from "./case.ts"

const firstPage = { page: 1, pageSize: 200 }
const names = async (store: Store) =>
  (await store.users.list({ sort: { by: "id", descending: false } }, firstPage)).rows.map((user) => user.userName)
const event = (id: number) => ({ event: "image.created", data: { ID: id }, resource: { type: "image", id } })

export const changeCases: Record<string, Case> = {
  "a change that throws is rolled back, and others of its commit are stored": async ({ open }) => {
    await using store = await open()
    const results = await Promise.allSettled(
      ["ann", "bob", "cat", "dan"].map((name) =>
        store.change(async (tx) => {
          await tx.users.insert(userRow(name))
          if (name === "bob" || name === "dan") throw new Error(`not ${name}`)
          return name
        }),
      ),
    )
    assert.deepEqual(
      results.map((result) => (result.status === "fulfilled" ? result.value : result.reason.message)),
      ["ann", "not bob", "cat", "not dan"],
    )
    assert.deepEqual(await names(store), ["ann", "cat"])
  },

  "a change that goes first runs before all that wait, also before the rest of an interrupted group": async ({ open, clock }) => {
    await using store = await open()
    const order: string[] = []
    const [began, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const note = (name: string) => async () => void order.push(name)
    const long = store.change(async () => {
      began.resolve()
      await held.promise
      // Longer than a group may take.
      await clock.advance(30)
    })
    const changes = [long, store.change(note("second of the group")), store.change(note("third"))]
    await began.promise
    changes.push(store.change(note("later")), store.change(note("first"), { first: true }))
    held.resolve()
    await Promise.all(changes)
    assert.deepEqual(order, ["first", "second of the group", "third", "later"])
  },

  "a change that throws alone is rolled back": async ({ open }) => {
    await using store = await open()
    const change = store.change(async (tx) => {
      await tx.users.insert(userRow("ann"))
      throw new Error("no")
    })
    await assert.rejects(change, /^Error: no$/)
    assert.deepEqual(await names(store), [])
    await addUser(store, "bob")
    assert.deepEqual(await names(store), ["bob"])
  },

  "a change reads its own writes; other reads do not before its COMMIT": async ({ open }) => {
    await using store = await open()
    await store.change(async (tx) => {
      const { id } = await tx.users.insert(userRow("ann"))
      assert.equal((await tx.users.get(id))?.userName, "ann")
      assert.equal((await tx.users.list({}, firstPage)).total, 1)
      assert.equal(await store.users.get(id), undefined)
      assert.equal((await store.users.list({}, firstPage)).total, 0)
    })
    assert.equal((await store.users.list({}, firstPage)).total, 1)
  },

  "effects run once, after COMMIT, in the order of changes, before the change resolves": async ({ open }) => {
    await using store = await open()
    const notified: string[] = []
    const change = (name: string) =>
      store
        .change(async (tx) => {
          await tx.users.insert(userRow(name))
          tx.afterCommit(() => notified.push(`effect ${name}`))
          assert.ok(!notified.includes(`effect ${name}`))
          if (name === "bob") throw new Error("no")
        })
        .then(
          () => notified.push(`answer ${name}`),
          () => notified.push(`refusal ${name}`),
        )
    await Promise.all(["ann", "bob", "cat"].map(change))
    assert.deepEqual(
      notified.filter((entry) => entry.startsWith("effect")),
      ["effect ann", "effect cat"],
    )
    for (const name of ["ann", "cat"]) assert.ok(notified.indexOf(`effect ${name}`) < notified.indexOf(`answer ${name}`))
    assert.equal(notified.length, 5)
  },

  "an effect that throws is logged, and its change succeeds": async ({ open }) => {
    const lines: string[] = []
    const logger = { debug() {}, info() {}, warn() {}, error: (_: object, text: string) => lines.push(text), child: () => logger }
    await using store = await open({ logger })
    await store.change(async (tx) => {
      tx.afterCommit(() => {
        throw new Error("oops")
      })
    })
    assert.deepEqual(lines, ["An effect of a committed change failed"])
  },

  "a change whose statement failed is rolled back even if its work ignores the error": async ({ open }) => {
    await using store = await open()
    const change = store.change(async (tx) => {
      await tx.users.insert(userRow("ann"))
      await tx.images.insert(imageRow(999)).catch(() => {})
      return "fine"
    })
    const others = addUser(store, "bob")
    await assert.rejects(change)
    await others
    assert.deepEqual(await names(store), ["bob"])
  },

  "a change can continue after a `DuplicateError`": async ({ open }) => {
    await using store = await open()
    const ann = await addUser(store, "ann")
    await store.change(async (tx) => {
      await assert.rejects(tx.users.insert(userRow("ann")), (error) => error instanceof DuplicateError && error.unique === "userName")
      await tx.users.insert(userRow("bob"))
    })
    assert.deepEqual(await names(store), ["ann", "bob"])
    await store.change((tx) => tx.users.setDeleted(ann.id, true))
    await assert.rejects(addUser(store, "ann"), DuplicateError)
  },

  "one of several concurrent inserts of a name succeeds": async ({ open }) => {
    await using store = await open()
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => addUser(store, "ann")))
    assert.equal(results.filter((result) => result.status === "fulfilled").length, 1)
    assert.equal(await store.users.count(), 1)
  },

  "statements that a change does not await are part of it": async ({ open }) => {
    await using store = await open()
    await Promise.all(
      ["ann", "bob"].map((name) =>
        store.change(async (tx) => {
          void tx.users.insert(userRow(name))
          void tx.journal(event(1))
        }),
      ),
    )
    assert.deepEqual(await names(store), ["ann", "bob"])
    assert.equal((await store.events.after(0, 10)).length, 2)
  },

  "a change is rolled back when a statement fails that it does not await": async ({ open }) => {
    await using store = await open()
    const change = store.change(async (tx) => {
      await tx.users.insert(userRow("ann"))
      tx.images.insert(imageRow(999)).catch(() => {})
    })
    await assert.rejects(change)
    assert.deepEqual(await names(store), [])
  },

  "the `tx` of a finished change rejects statements": async ({ open }) => {
    await using store = await open()
    const tx = await store.change(async (tx) => tx)
    await assert.rejects(tx.users.insert(userRow("ann")), /The change is over/)
    assert.throws(() => tx.afterCommit(() => {}), /The change is over/)
    assert.deepEqual(await names(store), [])
  },

  "a change inside a change is rejected at once, and a following one is not": async ({ open }) => {
    await using store = await open()
    const { promise: later, resolve } = Promise.withResolvers<unknown>()
    await store.change(async (tx) => {
      await assert.rejects(addUser(store, "ann"), /inside itself/)
      await tx.users.insert(userRow("bob"))
      tx.afterCommit(() => resolve(addUser(store, "cat")))
    })
    await later
    assert.deepEqual(await names(store), ["bob", "cat"])
  },

  "a change that exceeds its timeout is rolled back, and others succeed": async ({ open }) => {
    await using store = await open({ changeTimeoutMs: 1_500 })
    const { promise: never, resolve } = Promise.withResolvers<void>()
    const slow = store.change(async (tx) => {
      await tx.users.insert(userRow("ann"))
      await never
      await tx.users.insert(userRow("late"))
    })
    const quick = addUser(store, "bob")
    await assert.rejects(slow, (error) => error instanceof Failure && error.code === "unavailable")
    await quick
    resolve()
    await sleep(0)
    assert.deepEqual(await names(store), ["bob"])
  },

  "reads succeed while a change waits": async ({ open }) => {
    await using store = await open()
    const ann = await addUser(store, "ann")
    await store.change(async (tx) => {
      await tx.users.update(ann.id, { comment: "changed" })
      assert.equal((await store.users.get(ann.id))?.comment, "")
      await sleep(20)
      assert.equal((await store.users.get(ann.id))?.comment, "")
    })
    assert.equal((await store.users.get(ann.id))?.comment, "changed")
  },

  "no update is lost when changes read and write the same row concurrently": async ({ open }) => {
    await using first = await open()
    const ann = await addUser(first, "ann")
    await using second = first.dialect === "postgres" ? await open() : undefined
    const add = (store: Store) =>
      store.change(async (tx) => {
        const row = await tx.users.get(ann.id)
        await sleep(0)
        await tx.users.update(ann.id, { comment: `${row?.comment}x` })
      })
    await Promise.all(Array.from({ length: 40 }, (_, i) => add(second && i % 2 ? second : first)))
    const row = await first.users.get(ann.id)
    assert.equal(row?.comment.length, 40)
    assert.equal(row?.version, 41)
  },

  "IDs of the journal grow in the order of commits": async ({ open }) => {
    await using store = await open()
    const notified: number[] = []
    await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        store
          .change(async (tx) => {
            await tx.journal(event(i))
            if (i % 7 === 3) throw new Error("no")
            tx.afterCommit(() => notified.push(i))
          })
          .catch(() => {}),
      ),
    )
    const rows = await store.events.after(0, 100)
    assert.deepEqual(
      rows.map((row) => row.data.ID),
      notified,
    )
    assert.equal(rows.length, 43)
    assert.deepEqual(await store.events.bounds(), { first: rows[0]?.id, last: rows.at(-1)?.id })
    assert.deepEqual(
      (await store.events.after(rows[39]?.id ?? 0, 2)).map((row) => row.id),
      rows.slice(40, 42).map((row) => row.id),
    )
  },

  "a reader of the journal that continues after its last row misses no row of any writer": async ({ open }) => {
    await using first = await open()
    await using second = first.dialect === "postgres" ? await open() : undefined
    const writers = Array.from({ length: 200 }, (_, i) => (second && i % 2 ? second : first).change((tx) => tx.journal(event(i))))
    const seen: number[] = []
    let last = 0
    let finished = false
    const end = Promise.all(writers).then(() => {
      finished = true
    })
    for (let isLast = false; !isLast; ) {
      isLast = finished
      for (const row of await first.events.after(last, 1000)) {
        seen.push(row.data.ID as number)
        last = row.id
      }
      await sleep(0)
    }
    await end
    assert.deepEqual(
      seen.toSorted((a, b) => a - b),
      Array.from({ length: 200 }, (_, i) => i),
    )
  },

  "the oldest rows of the journal are pruned, and never its newest row": async ({ open }) => {
    await using store = await open()
    assert.deepEqual(await store.events.bounds(), { first: 0, last: 0 })
    for (let i = 0; i < 5; i += 1) await store.change((tx) => tx.journal(event(i)))
    const { last } = await store.events.bounds()
    assert.equal(await store.change((tx) => tx.pruneJournal(last - 2)), 3)
    assert.deepEqual(await store.events.bounds(), { first: last - 1, last })
    assert.equal(await store.change((tx) => tx.pruneJournal(last + 10)), 1)
    assert.deepEqual(await store.events.bounds(), { first: last, last })
    await store.change((tx) => tx.journal(event(9)))
    assert.ok((await store.events.bounds()).last > last)
  },

  "the bytes of rows of the journal are counted by their IDs": async ({ open }) => {
    await using store = await open()
    assert.equal(await store.events.bytesBetween(0, 10), 0)
    const data = { ID: 1, é: "é".repeat(100) }
    for (let i = 0; i < 5; i += 1) await store.change((tx) => tx.journal({ ...event(i), data }))
    const { first, last } = await store.events.bounds()
    const size = Buffer.byteLength(JSON.stringify(data))
    assert.equal(await store.events.bytesBetween(first - 1, last), 5 * size)
    assert.equal(await store.events.bytesBetween(first, last - 1), 3 * size)
  },

  "audit rows are listed newest first, filtered, and pruned by age": async ({ open, clock }) => {
    await using store = await open()
    const start = clock.now()
    for (const [i, actor] of ["ann", "bob", "ann", "cat"].entries()) {
      await store.change((tx) =>
        tx.audit({
          actor,
          action: i < 2 ? "image.create" : "image.delete",
          resource: i === 3 ? null : { type: "image", id: i },
          outcome: i === 1 ? "refused" : "done",
          address: "127.0.0.1",
          requestId: `r${i}`,
        }),
      )
      await clock.advance(1000)
    }
    const ids = async (filter: Parameters<typeof store.audits.list>[0], page = { page: 1, pageSize: 10 }) => {
      const { rows, total } = await store.audits.list(filter, unrestrictedViewer, page)
      return [rows.map((row) => row.requestId).join(" "), total]
    }
    assert.deepEqual(await ids({}), ["r3 r2 r1 r0", 4])
    assert.deepEqual(await ids({}, { page: 2, pageSize: 3 }), ["r0", 4])
    assert.deepEqual(await ids({ actor: "ann" }), ["r2 r0", 2])
    assert.deepEqual(await ids({ action: "image.create", actor: "bob" }), ["r1", 1])
    assert.deepEqual(await ids({ from: start + 1000, to: start + 2000 }), ["r2 r1", 2])
    const [newest, , refused] = (await store.audits.list({}, unrestrictedViewer, firstPage)).rows
    assert.deepEqual(
      [newest?.resource, newest?.at, refused?.outcome, refused?.resource],
      [null, start + 3000, "refused", { type: "image", id: 1 }],
    )
    assert.equal(await store.change((tx) => tx.pruneAudit(start + 1000, 1)), 1, "no more than asked for")
    assert.deepEqual(await ids({}), ["r3 r2 r1", 3])
    assert.equal(await store.change((tx) => tx.pruneAudit(start + 1000, 10)), 1)
    assert.deepEqual(await ids({}), ["r3 r2", 2])
    assert.equal(await store.change((tx) => tx.pruneAuditOf("nobody", 0, 10)), 0)
    assert.equal(await store.change((tx) => tx.pruneAuditOf("ann", 1, 10)), 0, "the newest stay")
    const { total } = await store.audits.list({ actor: "ann" }, unrestrictedViewer, firstPage)
    assert.equal(await store.change((tx) => tx.pruneAuditOf("ann", 0, 10)), total)
  },

  "a large group of changes is committed completely": async ({ open }) => {
    await using store = await open()
    const ann = await addUser(store, "ann")
    const rows = await Promise.all(
      Array.from({ length: 700 }, (_, i) => store.change((tx) => tx.images.insert(imageRow(ann.id, { name: `i${i}` })))),
    )
    assert.equal(new Set(rows.map((row) => row.id)).size, 700)
    assert.equal((await store.images.list({}, unrestrictedViewer, firstPage)).total, 700)
  },

  "a closed store rejects changes and reads, and completes queued changes": async ({ open }) => {
    const store = await open()
    const waiting = addUser(store, "ann")
    await store[Symbol.asyncDispose]()
    assert.equal((await waiting).userName, "ann")
    await assert.rejects(addUser(store, "bob"), (error) => error instanceof Failure && error.code === "unavailable")
    // Reads of a closed store are rejected as well.
    await assert.rejects(store.users.byName("ann"), (error) => error instanceof Failure && error.code === "unavailable")
    await using repeated = await open()
    assert.deepEqual(await names(repeated), ["ann"])
  },

  "an instance keeps its name, and another database has another name": async ({ open, make }) => {
    const store = await open()
    await store[Symbol.asyncDispose]()
    await using repeated = await open()
    assert.match(repeated.instance, /^[0-9a-f]{32}$/)
    assert.equal(repeated.instance, store.instance)
    await using otherDatabase = await make()
    await using other = await otherDatabase.open()
    assert.notEqual(other.instance, store.instance)
  },

  "`check` succeeds on a healthy database, also many times at once": async ({ open }) => {
    await using store = await open()
    await Promise.all([store.check(), store.check(), store.check()])
  },
}
