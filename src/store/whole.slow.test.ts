import { inFrontOfStore, passOnPostgres } from "./testing/pass-on-postgres.ts"

passOnPostgres("test/api", { only: inFrontOfStore })
passOnPostgres("test/access")
