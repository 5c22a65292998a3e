import { notAboutStore, passOnPostgres } from "./testing/pass-on-postgres.ts"

passOnPostgres({ "test/access": { only: ["lists", "hidden"] }, "test/api": { except: notAboutStore } })
