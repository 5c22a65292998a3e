import { passOnPostgres } from "./testing/whole.ts"

passOnPostgres("test/access")
