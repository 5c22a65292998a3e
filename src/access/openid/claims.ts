import { accountNameError, isPlainText } from "#contract"
import { Refusal } from "../caller.ts"

/** Which claims say what. */
export interface ClaimNames {
  /** Holds the user name that a new person gets. */
  userClaim: string
  /**
   * Cut off the end of the user name, such as `@example.com`; who has another end is refused.
   * Empty: nothing is.
   */
  userSuffix: string
  /** Holds the names of the person's groups. Empty: no groups are taken over. */
  groupsClaim: string
  /** Who is an administrator; undefined: the provider does not decide that. */
  admin: { claim: string; value: string } | undefined
}

/** Somebody as a provider knows them. */
export interface ProviderUser {
  issuer: string
  subject: string
  userName: string
  email: string
  /** Undefined: the provider is not asked. */
  groups: readonly string[] | undefined
  isAdmin: boolean | undefined
}

/** Groups of one person that are looked at; providers of large organisations name thousands. */
const groupsMax = 1_000

/** Reads the claims. Their user name may be none: whoever is known already needs none. */
export function toProviderUser(claims: Record<string, unknown>, names: ClaimNames): ProviderUser {
  const { email } = claims
  return {
    issuer: String(claims.iss),
    subject: String(claims.sub),
    userName: nameIn(claims[names.userClaim], names.userSuffix),
    email: typeof email === "string" && email.length <= 320 && isPlainText(email) ? email : "",
    groups: names.groupsClaim === "" ? undefined : textsIn(claims[names.groupsClaim]).slice(0, groupsMax),
    isAdmin: names.admin && textsIn(claims[names.admin.claim]).includes(names.admin.value),
  }
}

/**
 * The name in lower case; whoever else has it then is told apart by the subject. Empty when there
 * is none.
 */
function nameIn(value: unknown, suffix: string): string {
  if (typeof value !== "string" || !value.toLowerCase().endsWith(suffix.toLowerCase())) return ""
  return value.slice(0, value.length - suffix.length).toLowerCase()
}

function textsIn(value: unknown): string[] {
  const all = Array.isArray(value) ? value : [value]
  return all.filter((each) => typeof each === "string")
}

/** Throws the refusal of somebody whose claims give no user name. */
export function checkProviderUserName({ userName }: ProviderUser): void {
  const wanted = accountNameError(userName)
  if (wanted === undefined) return
  const came = userName === "" ? "none that can be used" : JSON.stringify(userName.slice(0, 64))
  throw new Refusal("forbidden", `The OpenID provider must give a user name of ${wanted}; got ${came}`)
}
