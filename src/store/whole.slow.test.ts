import { passOnPostgres } from "./testing/pass-on-postgres.ts"

passOnPostgres("test/access")
