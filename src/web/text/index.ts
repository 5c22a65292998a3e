import { common } from "./common.ts"
import { errors } from "./errors.ts"
import { home } from "./home.ts"
import { run } from "./run.ts"
import { session } from "./session.ts"
import { start } from "./start.ts"

/** Every text of the web UI, by area. A translation is another object of this shape. */
export const texts = { common, errors, home, run, session, start }
