import { passOnPostgres } from "./testing/whole.ts"

passOnPostgres("test/api")
passOnPostgres("test/access", ["lists", "hidden"])
