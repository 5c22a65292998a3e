import { common } from "./common.ts"
import { editing } from "./editing.ts"
import { errors } from "./errors.ts"
import { groups } from "./groups.ts"
import { home } from "./home.ts"
import { images } from "./images.ts"
import { listing } from "./listing.ts"
import { projects } from "./projects.ts"
import { run } from "./run.ts"
import { session } from "./session.ts"
import { sharing } from "./sharing.ts"
import { start } from "./start.ts"

/** Every text of the web UI, by area. A translation is another object of this shape. */
export const texts = { common, editing, errors, groups, home, images, listing, projects, run, session, sharing, start }
