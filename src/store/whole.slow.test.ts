import { notAboutStore, passOnPostgres } from "./testing/pass-on-postgres.ts"

passOnPostgres({ "test/access": { except: [] }, "test/api": { only: notAboutStore } })
