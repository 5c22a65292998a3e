import { accountNameError, bounds, isPlainText } from "#contract"
import { AuthenticationFailure } from "../caller.ts"

/** The names of the claims that the service reads. */
export interface ClaimNames {
  /** The claim with the user name of a new account. */
  userClaim: string
  /**
   * Removed from the end of the user name, such as `@example.com`; a name with another ending is
   * rejected. Empty: nothing is removed.
   */
  userSuffix: string
  /** The claim with the names of the person's groups. Empty: the provider decides no groups. */
  groupsClaim: string
  /**
   * The claim and value that make an administrator; undefined: the provider does not decide that.
   */
  admin: { claim: string; value: string } | undefined
}

/** A person as the provider describes them. */
export interface ProviderUser {
  issuer: string
  subject: string
  userName: string
  email: string
  /** Undefined: the provider does not decide groups. */
  groups: readonly string[] | undefined
  isAdmin: boolean | undefined
}

/** Providers of large organisations name thousands. */
const maxGroups = bounds.accounts.openIdGroups.value

/** Reads the claims. The user name may be empty: a person who already has an account needs none. */
export function toProviderUser(claims: Record<string, unknown>, names: ClaimNames): ProviderUser {
  const { email } = claims
  return {
    issuer: String(claims.iss),
    subject: String(claims.sub),
    userName: isUnverifiedEmail(claims, names) ? "" : nameIn(claims[names.userClaim], names.userSuffix),
    email: typeof email === "string" && email.length <= 320 && isPlainText(email) ? email : "",
    groups: names.groupsClaim === "" ? undefined : textsIn(claims[names.groupsClaim]).slice(0, maxGroups),
    isAdmin: names.admin && textsIn(claims[names.admin.claim]).includes(names.admin.value),
  }
}

/**
 * Whether the name is an address that the provider has not verified: people would choose those of
 * others.
 */
function isUnverifiedEmail({ email_verified }: Record<string, unknown>, { userClaim }: ClaimNames): boolean {
  return userClaim === "email" && email_verified !== undefined && email_verified !== true && email_verified !== "true"
}

/**
 * The name in lower case, empty when there is none. The subject distinguishes two people whose
 * names become equal. Only ASCII: the Kelvin sign, for instance, becomes a `k`.
 */
function nameIn(value: unknown, suffix: string): string {
  if (typeof value !== "string" || !/^[\x20-\x7e]*$/.test(value) || !value.toLowerCase().endsWith(suffix.toLowerCase())) return ""
  return value.slice(0, value.length - suffix.length).toLowerCase()
}

function textsIn(value: unknown): string[] {
  const all = Array.isArray(value) ? value : [value]
  return all.filter((each) => typeof each === "string")
}

/** Throws an `AuthenticationFailure` when the claims contain no valid user name. */
export function checkProviderUserName({ userName }: ProviderUser): void {
  const wanted = accountNameError(userName)
  if (wanted === undefined) return
  const came = userName === "" ? "no usable one" : JSON.stringify(userName.slice(0, 64))
  throw new AuthenticationFailure("forbidden", `The OpenID provider must send a user name of ${wanted}; got ${came}`)
}
