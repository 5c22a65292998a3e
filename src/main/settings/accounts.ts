import { claimValue, issuer, list, oneOf, text, wanted } from "./parse.ts"
import { setting } from "./setting.ts"

/** The first administrator, and sign-in by OpenID. */
export const accountsSettings = {
  adminPassword: setting({
    env: "ADMIN_PASSWORD",
    default: "generated and printed once",
    initial: "",
    read: text,
    doc: "Password of the first administrator, `admin`, at the first start. Later starts pass over it.",
  }),
  oidcIssuer: setting({
    env: "OIDC_ISSUER",
    default: "none",
    initial: "",
    read: issuer,
    doc: "The OpenID provider that people may sign in by: its issuer identifier, `https://…` (`http://` on this machine only). Needs `OIDC_CLIENT_ID`.",
  }),
  oidcClientId: setting({ env: "OIDC_CLIENT_ID", default: "none", initial: "", read: text, doc: "What the provider knows Quayside as." }),
  oidcClientSecret: setting({
    env: "OIDC_CLIENT_SECRET",
    default: "none",
    initial: "",
    read: text,
    doc: "The secret that goes with it; none for a public client.",
  }),
  oidcName: setting({
    env: "OIDC_NAME",
    default: "the issuer's host",
    initial: "",
    read: text,
    doc: "What people call the provider: the button on the sign-in page says `Sign in with …`.",
  }),
  oidcScope: setting({
    env: "OIDC_SCOPE",
    default: "openid profile email",
    initial: "openid profile email",
    read: (value) => (value.split(" ").includes("openid") ? value : wanted("scopes with spaces between, openid among them")),
    doc: "What the provider is asked for. Some want a further scope before they tell groups.",
  }),
  oidcUserClaim: setting({
    env: "OIDC_USER_CLAIM",
    default: "preferred_username",
    initial: "preferred_username",
    read: text,
    doc: "The claim that holds the user name of a new account. Later it may change: the account belongs to the provider's subject.",
  }),
  oidcUserSuffix: setting({
    env: "OIDC_USER_SUFFIX",
    default: "none",
    initial: "",
    read: text,
    doc: "What is cut off the end of that name, like `@example.com`; a name with another end makes no account.",
  }),
  oidcUnknown: setting({
    env: "OIDC_UNKNOWN",
    default: "refuse",
    initial: "refuse" as "refuse" | "create",
    read: oneOf("refuse", "create"),
    doc: "Whether whoever signs in by the provider and has no account gets one.",
  }),
  oidcLink: setting({
    env: "OIDC_LINK",
    default: "never",
    initial: "never" as "never" | "no-password" | "all",
    read: oneOf("never", "no-password", "all"),
    doc: "Which account that was made here becomes that of whoever first signs in by the provider under its name: none, one without a password, or any.",
  }),
  oidcGroupsClaim: setting({
    env: "OIDC_GROUPS_CLAIM",
    default: "none",
    initial: "",
    read: text,
    doc: "The claim that holds the names of a person's groups.",
  }),
  oidcGroups: setting({
    env: "OIDC_GROUPS",
    default: "none",
    initial: [] as string[],
    read: list,
    doc: "Groups whose members the provider decides, with commas between; `lab-*` is every name that begins so. Made when missing, renewed at each sign-in.",
  }),
  oidcAdmin: setting({
    env: "OIDC_ADMIN",
    default: "none",
    initial: undefined as { claim: string; value: string } | undefined,
    read: claimValue,
    doc: "Who administers, as `claim=value`, like `groups=quayside-admins`: whose claim is or holds that value. Renewed at each sign-in.",
  }),
} as const
