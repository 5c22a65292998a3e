import { after } from "node:test"
import { runCases, storeCases } from "./testing/cases/index.ts"
import { postgresServer } from "./testing/postgres.ts"

const server = await postgresServer()
after(() => server[Symbol.asyncDispose]())

for (const [subject, cases] of Object.entries(storeCases)) runCases(`The store on PostgreSQL: ${subject}`, cases, server.make)
