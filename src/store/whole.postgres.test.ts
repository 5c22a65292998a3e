import { test } from "node:test"
import { passes } from "./testing/whole.ts"

test("The tests of the whole API pass with PostgreSQL below, as they do with SQLite", { timeout: 300_000 }, () => passes("test/api"))
test("The tests of who sees what pass with PostgreSQL below", { timeout: 300_000 }, () => passes("test/access", ["lists", "hidden"]))
