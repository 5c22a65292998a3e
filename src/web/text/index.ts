import { common } from "./common.ts"
import { errors } from "./errors.ts"
import { home } from "./home.ts"
import { run } from "./run.ts"
import { session } from "./session.ts"
import { start } from "./start.ts"

/**
 * The texts that the first pages need, by area; `resources.ts` and `administration.ts` have those
 * of further pages. A translation is other objects of these shapes.
 */
export const texts = { common, errors, home, run, session, start }
