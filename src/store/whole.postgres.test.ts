import { passOnPostgres } from "./testing/pass-on-postgres.ts"

passOnPostgres("test/api")
passOnPostgres("test/access", ["lists", "hidden"])
