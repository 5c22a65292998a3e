import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import type * as Library from "openid-client"
import { type Clock, Signer } from "#kit"
import { AuthenticationFailure } from "../caller.ts"
import { boundedFetch } from "./bounded-fetch.ts"
import { type ClaimNames, type ProviderUser, toProviderUser } from "./claims.ts"

export interface OpenIdOptions extends ClaimNames {
  /** The provider's issuer identifier: https, or http if the provider runs on this machine. */
  issuer: string
  clientId: string
  /** Empty: a public client, protected by PKCE alone. */
  clientSecret: string
  /** The requested scopes, separated by spaces; at least `openid`. */
  scope: string
  /**
   * The base URL, without a trailing slash; the provider redirects browsers to its
   * `/oidc/callback`.
   */
  baseUrl: string
  /** At least 32 bytes that all processes of this installation share. */
  key: Uint8Array
  clock: Clock
  /** Uses a one-time proof, in whichever process. False if it was used before. */
  claimProof(proof: { id: string; endsAt: number }): Promise<boolean>
  /** For each request to the provider. Default 10. */
  timeoutSeconds?: number
}

/**
 * Signs people in by an OpenID provider: authorization code, PKCE, discovery. Both methods reject
 * with an `AuthenticationFailure` whose message explains the problem to a person.
 */
export interface OpenId {
  /**
   * Returns the provider's URL and the cookie that binds the sign-in to this browser. `next`: the
   * path of this service to end at.
   */
  begin(next: string | undefined): Promise<{ location: string; cookie: string }>
  /**
   * Returns the person whom the provider authenticated, once for each `begin`. `query`: the
   * callback's query string, unchanged. `next` is a URL of this service.
   */
  finish(query: string, cookie: string | undefined): Promise<{ person: ProviderUser; next: string }>
}

/** How long a person may take at the provider. */
export const openIdSignInMs = 10 * 60_000
/**
 * How long discovered metadata is used. Keys are fetched at each sign-in, so that a rotated key
 * works at once.
 */
const metadataMs = 10 * 60_000
const defaultTimeoutSeconds = 10
const home = "/ui/"
/** Browsers store no cookie of more than 4 KiB. */
const maxAddressLength = 2_000

export function createOpenId(options: OpenIdOptions): OpenId {
  const provider = new Provider(options)
  const { baseUrl, clock, key } = options
  const signer = new Signer(key, "openid sign-in")
  const secretsOf = (seed: string) => {
    const derive = (what: string) => createHmac("sha256", key).update(`openid ${what}\n${seed}`).digest("base64url")
    return { state: derive("state"), nonce: derive("nonce"), verifier: derive("verifier") }
  }
  return {
    async begin(next) {
      const seed = randomBytes(18).toString("base64url")
      const location = await provider.authorization(secretsOf(seed))
      return { location, cookie: signer.sign([seed, ownAddress(next, baseUrl), clock.now() + openIdSignInMs]) }
    },
    async finish(query, cookie) {
      const [seed, next, endsAt] = (signer.verify(cookie ?? "") ?? []) as [string?, string?, number?]
      if (seed === undefined || next === undefined || endsAt === undefined) throw notBegun()
      const secrets = secretsOf(seed)
      if (!isSame(new URLSearchParams(query).get("state") ?? "", secrets.state)) throw notBegun()
      if (endsAt <= clock.now()) throw notBegun()
      const person = toProviderUser(await provider.claims(query, secrets), options)
      // After the provider's answer: strangers with made-up codes must not write to the database.
      if (!(await options.claimProof({ id: `openid ${seed}`, endsAt }))) throw notBegun()
      return { person, next }
    },
  }
}

interface Secrets {
  state: string
  nonce: string
  verifier: string
}

/**
 * The provider, as its metadata describes it. The library is loaded at the first sign-in by OpenID.
 */
class Provider {
  readonly #options: OpenIdOptions
  #metadata: { until: number; found: Promise<Library.ServerMetadata> } | undefined

  constructor(options: OpenIdOptions) {
    this.#options = options
  }

  authorization({ state, nonce, verifier }: Secrets): Promise<string> {
    return this.#ask(async (library, configuration) => {
      const { scope, baseUrl } = this.#options
      const url = library.buildAuthorizationUrl(configuration, {
        redirect_uri: `${baseUrl}/oidc/callback`,
        scope,
        state,
        nonce,
        code_challenge: await library.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
      })
      return url.href
    })
  }

  /** The claims of the verified ID token, plus those that only the provider's userinfo has. */
  claims(query: string, { state, nonce, verifier }: Secrets): Promise<Record<string, unknown>> {
    return this.#ask(async (library, configuration) => {
      const tokens = await library.authorizationCodeGrant(configuration, new URL(`${this.#options.baseUrl}/oidc/callback?${query}`), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      })
      const claims = tokens.claims() as Library.IDToken
      if (configuration.serverMetadata().userinfo_endpoint === undefined || this.#holdsAll(claims)) return claims
      return { ...(await library.fetchUserInfo(configuration, tokens.access_token, claims.sub)), ...claims }
    })
  }

  #holdsAll(claims: object): boolean {
    const { userClaim, groupsClaim, admin } = this.#options
    return [userClaim, groupsClaim, admin?.claim ?? ""].every((name) => name === "" || name in claims)
  }

  async #ask<T>(work: (library: typeof Library, configuration: Library.Configuration) => Promise<T>): Promise<T> {
    const library = await import("openid-client")
    try {
      return await work(library, await this.#configuration(library))
    } catch (error) {
      throw refusalOf(error)
    }
  }

  /** A new configuration each time: a reused one would not fetch a new key for a minute. */
  async #configuration(library: typeof Library): Promise<Library.Configuration> {
    const { clientId, clientSecret } = this.#options
    const metadata = await this.#discovered(library).catch((error) => {
      throw unavailable(error)
    })
    const configuration = new library.Configuration(metadata, clientId, {}, clientProof(library, metadata, clientSecret))
    configuration[library.customFetch] = boundedFetch
    configuration.timeout = this.#options.timeoutSeconds ?? defaultTimeoutSeconds
    for (const extend of this.#extensions(library)) extend(configuration)
    return configuration
  }

  /**
   * The ID token's signature is checked although it came directly from the provider: a plain-text
   * connection may be intercepted.
   */
  #extensions(library: typeof Library) {
    const isPlain = this.#options.issuer.startsWith("http:")
    return [library.enableNonRepudiationChecks, ...(isPlain ? [library.allowInsecureRequests] : [])]
  }

  #discovered(library: typeof Library): Promise<Library.ServerMetadata> {
    const { clock, issuer, clientId, timeoutSeconds = defaultTimeoutSeconds } = this.#options
    if (this.#metadata && this.#metadata.until > clock.now()) return this.#metadata.found
    const options = { timeout: timeoutSeconds, [library.customFetch]: boundedFetch, execute: this.#extensions(library) }
    const found = library.discovery(new URL(issuer), clientId, {}, library.None(), options).then((each) => each.serverMetadata())
    const metadata = { until: clock.now() + metadataMs, found }
    this.#metadata = metadata
    found.catch(() => {
      if (this.#metadata === metadata) this.#metadata = undefined
    })
    return found
  }
}

/** How the client proves itself at the token endpoint. The library takes no empty secret. */
function clientProof(library: typeof Library, metadata: Library.ServerMetadata, clientSecret: string): Library.ClientAuth {
  if (clientSecret === "") return library.None()
  const takesBasic = metadata.token_endpoint_auth_methods_supported?.includes("client_secret_basic") ?? true
  return takesBasic ? library.ClientSecretBasic(clientSecret) : library.ClientSecretPost(clientSecret)
}

function notBegun(): AuthenticationFailure {
  return new AuthenticationFailure(
    "unauthorized",
    "This sign-in was not started in this browser, was used before or took too long; start again",
  )
}

/** The message is for people; the library's error becomes the cause, for the log. */
function refusalOf(error: unknown): AuthenticationFailure {
  if (error instanceof AuthenticationFailure) return error
  if (isUnreachable(error)) return unavailable(error)
  const { error: told, code, name } = error as { error?: unknown; code?: unknown; name?: unknown }
  const short = String(told ?? code ?? name).replaceAll(/[^\w .-]/g, "")
  return caused(
    new AuthenticationFailure("unauthorized", `The OpenID provider's response does not prove a user name (${short.slice(0, 80)})`),
    error,
  )
}

function unavailable(cause: unknown): AuthenticationFailure {
  return caused(
    new AuthenticationFailure(
      "unavailable",
      "The OpenID provider cannot be reached at the moment; signing in with a password still works",
      {
        retryAfterSeconds: 10,
      },
    ),
    cause,
  )
}

function caused(refusal: AuthenticationFailure, cause: unknown): AuthenticationFailure {
  refusal.cause = cause
  return refusal
}

function isUnreachable(error: unknown): boolean {
  const { name, code, status, cause } = error as { name?: string; code?: string; status?: number; cause?: { status?: number } }
  const answered = status ?? cause?.status
  if (answered !== undefined) return answered >= 500
  return (name === "TypeError" && code === undefined) || code === "OAUTH_TIMEOUT"
}

/**
 * Anybody can write a link to the sign-in: a `next` that leaves this service, or is no path,
 * becomes the home page.
 */
function ownAddress(next: string | undefined, baseUrl: string): string {
  const url = next?.startsWith("/") && URL.canParse(next, baseUrl) ? new URL(next, baseUrl) : undefined
  const isOwn = url?.origin === new URL(baseUrl).origin && url.href.length <= maxAddressLength
  return isOwn ? url.href : `${baseUrl}${home}`
}

function isSame(given: string, wanted: string): boolean {
  const bytes = Buffer.from(given)
  return bytes.length === wanted.length && timingSafeEqual(bytes, Buffer.from(wanted))
}
