import { runCases, storeCases } from "./testing/cases/index.ts"
import { sqliteDatabase } from "./testing/databases.ts"

for (const [subject, cases] of Object.entries(storeCases)) runCases(`The store on SQLite: ${subject}`, cases, sqliteDatabase)
