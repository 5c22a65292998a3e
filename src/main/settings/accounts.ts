import { choiceOf, parseClaimValue, parseIssuer, parseList, parseText, throwExpected } from "./parse.ts"
import { setting } from "./setting.ts"

/** The first administrator, and sign-in by OpenID. */
export const accountsSettings = {
  adminPassword: setting({
    env: "ADMIN_PASSWORD",
    default: "generated and printed once",
    initial: "",
    read: parseText,
    doc: "Password of the first administrator, `admin`, at the first start. Later starts ignore it.",
  }),
  oidcIssuer: setting({
    env: "OIDC_ISSUER",
    default: "none",
    initial: "",
    read: parseIssuer,
    doc: "Issuer identifier of the OpenID provider for sign-in: `https://…` (`http://` on this machine only). Needs `OIDC_CLIENT_ID`.",
  }),
  oidcClientId: setting({
    env: "OIDC_CLIENT_ID",
    default: "none",
    initial: "",
    read: parseText,
    doc: "The client ID of Quayside at the provider.",
  }),
  oidcClientSecret: setting({
    env: "OIDC_CLIENT_SECRET",
    default: "none",
    initial: "",
    read: parseText,
    doc: "The client secret; none for a public client.",
  }),
  oidcName: setting({
    env: "OIDC_NAME",
    default: "the issuer's host",
    initial: "",
    read: parseText,
    doc: "Name of the provider on the sign-in page: the button reads `Sign in with …`.",
  }),
  oidcScope: setting({
    env: "OIDC_SCOPE",
    default: "openid profile email",
    initial: "openid profile email",
    read: (value) => (value.split(" ").includes("openid") ? value : throwExpected("scopes separated by spaces, including openid")),
    doc: "Scopes to request from the provider. Some providers send groups only for a further scope.",
  }),
  oidcUserClaim: setting({
    env: "OIDC_USER_CLAIM",
    default: "preferred_username",
    initial: "preferred_username",
    read: parseText,
    doc: "The claim with the user name of a new account. It may change later: the account is bound to the provider's subject.",
  }),
  oidcUserSuffix: setting({
    env: "OIDC_USER_SUFFIX",
    default: "none",
    initial: "",
    read: parseText,
    doc: "Suffix to remove from that name, like `@example.com`; a name without this suffix creates no account.",
  }),
  oidcUnknown: setting({
    env: "OIDC_UNKNOWN",
    default: "refuse",
    initial: "refuse" as "refuse" | "create",
    read: choiceOf("refuse", "create"),
    doc: "Whether a first sign-in by the provider creates an account or is refused.",
  }),
  oidcLink: setting({
    env: "OIDC_LINK",
    default: "never",
    initial: "never" as "never" | "no-password" | "all",
    read: choiceOf("never", "no-password", "all"),
    doc: "Which existing accounts a first sign-in by the provider may link to by user name: none, those without a password, or all.",
  }),
  oidcGroupsClaim: setting({
    env: "OIDC_GROUPS_CLAIM",
    default: "none",
    initial: "",
    read: parseText,
    doc: "The claim with the names of a person's groups.",
  }),
  oidcGroups: setting({
    env: "OIDC_GROUPS",
    default: "none",
    initial: [] as string[],
    read: parseList,
    doc: "Groups whose members the provider decides, separated by commas; `lab-*` matches every name that begins with `lab-`. Created if missing, updated at each sign-in.",
  }),
  oidcAdmin: setting({
    env: "OIDC_ADMIN",
    default: "none",
    initial: undefined as { claim: string; value: string } | undefined,
    read: parseClaimValue,
    doc: "Who is an administrator, as `claim=value`, like `groups=quayside-admins`: people whose claim equals or contains the value. Updated at each sign-in.",
  }),
} as const
