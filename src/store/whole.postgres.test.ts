import { inFrontOfStore, passOnPostgres } from "./testing/pass-on-postgres.ts"

passOnPostgres("test/api", { except: inFrontOfStore })
passOnPostgres("test/access", { only: ["lists", "hidden"] })
