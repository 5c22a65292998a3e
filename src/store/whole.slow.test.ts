import { test } from "node:test"
import { passes } from "./testing/whole.ts"

test("The tests of who sees and may do what pass with PostgreSQL below, as they do with SQLite", () => passes("test/access"))
