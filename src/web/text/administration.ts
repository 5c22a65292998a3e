import { audit } from "./audit.ts"
import { authorize } from "./authorize.ts"
import { capacity } from "./capacity.ts"
import { health } from "./health.ts"
import { me, sessions } from "./me.ts"
import { people } from "./people.ts"

/** The texts of administration and of one's own account, which load with their pages. */
export const adminTexts = { audit, authorize, capacity, health, me, people, sessions }
