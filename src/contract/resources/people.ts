import { runBounds } from "../bounds/runs.ts"
import { storageBounds } from "../bounds/storage.ts"
import { type AnswerValues, invalidField, parseObject, type Writability } from "../fields/field.ts"
import { boolean, integer, nullableTimestamp, oneOf, timestamp } from "../fields/scalars.ts"
import { custom, list, readOnlyField } from "../fields/shapes.ts"
import { type StructureValue, structure } from "../fields/structure.ts"
import { secret, text } from "../fields/text.ts"
import { accountNameField, commentField, commonFields, nameField } from "./common.ts"

/** `MaxMemory`, `MaxDisk` and `MaxStorage` are in the unit of `memoryUnit`. */
export const limitNames = [
  "MaxRuns",
  "MaxCpus",
  "MaxMemory",
  "MaxGpus",
  "MaxRunHours",
  "IdleMinutes",
  "MaxDisk",
  "MaxStorage",
  "MaxQueued",
  "MaxObjects",
] as const
export type LimitName = (typeof limitNames)[number]
/**
 * The limits that somebody set. `null` is unlimited; an absent limit leaves the default in force.
 */
export type Limits = Partial<Record<LimitName, number | null>>
/** The limits as they apply, with every name. */
export type EffectiveLimits = Record<LimitName, number | null>
/** Every amount is allowed. */
export const unlimited = Object.fromEntries(limitNames.map((name) => [name, null])) as EffectiveLimits
/** The defaults apply. */
export const unsetLimits: Limits = {}

/**
 * The defaults, if neither a person nor a group of theirs has the limit. Memory and
 * disk are MiB.
 */
export const defaultLimits: EffectiveLimits = {
  MaxRuns: runBounds.maxRuns.value,
  MaxCpus: null,
  MaxMemory: null,
  MaxGpus: null,
  MaxRunHours: null,
  IdleMinutes: null,
  MaxDisk: null,
  MaxStorage: storageBounds.maxStorage.value,
  MaxQueued: runBounds.maxQueued.value,
  MaxObjects: runBounds.maxObjects.value,
}

const limitsSchema = {
  type: "object",
  properties: Object.fromEntries(
    limitNames.map((name) => [name, { type: ["integer", "null"], minimum: 0, maximum: Number.MAX_SAFE_INTEGER }]),
  ),
}

export const effectiveLimits = (description: string) =>
  readOnlyField<EffectiveLimits>({ ...limitsSchema, required: limitNames }, description)

const limits = (description: string) =>
  custom<Limits>({
    description,
    write: "optional",
    initial: unsetLimits,
    schema: limitsSchema,
    parse: (value, field) => {
      const object = parseObject(value, field, field)
      const result: Limits = {}
      for (const name of limitNames) {
        if (!Object.hasOwn(object, name)) continue
        const limit = object[name]
        if (limit !== null && (typeof limit !== "number" || !Number.isSafeInteger(limit) || limit < 0))
          throw invalidField(field, `whole numbers from 0 or null (${name} is not)`, limit)
        result[name] = limit
      }
      return result
    },
  })

/** White space alone is a password like any other. */
const password = <W extends Writability>(description: string, write: W) => secret({ description, max: 1_024, write, filled: false })

/** A person's account. */
export const userFields = {
  ...commonFields,
  UserName: accountNameField("Never changes and is never given again."),
  Password: password(
    "Write only. 1 to 1,024 bytes. Without one, nobody can sign in to the account by password; an empty one changes nothing.",
    "optional",
  ),
  Email: text({ description: "Where to reach the person.", max: 320 }),
  Comment: commentField,
  IsAdmin: boolean({ description: "Whether the person administers the installation." }),
  IsDisabled: boolean({ description: "Whether the person is locked out." }),
  Limits: limits("The limits of the person. `null` is unlimited; the defaults apply to absent limits."),
}
export type User = AnswerValues<typeof userFields>
export const userModel = structure("User", userFields)

/** The further fields of a PUT. */
export const userChangeFields = {
  ...userFields,
  CurrentPassword: custom<string | undefined, never>({
    description: "Write only. The present password; required from people who change their own.",
    schema: { type: "string", writeOnly: true },
    // Administrators need no current password, so any text is accepted.
    parse: (value) => (typeof value === "string" ? value : undefined),
  }),
}

/** A group of people. */
export const groupFields = {
  ...commonFields,
  GroupName: accountNameField("Never changes and is never given again."),
  Comment: commentField,
  Members: custom<string[]>({
    description: "User names, in alphabetical order.",
    write: "optional",
    initial: [],
    schema: { type: "array", items: { type: "string" } },
    parse: (value, field) => {
      if (!Array.isArray(value) || !value.every((entry) => typeof entry === "string"))
        throw invalidField(field, "a list of user names", value)
      return value
    },
  }),
  Limits: limits("The limits of each member. `null` is unlimited."),
  TotalLimits: limits("The limits of all members together: amounts only."),
}
export type Group = AnswerValues<typeof groupFields>
export const groupModel = structure("Group", groupFields)

/** The authenticated caller. */
export const whoami = structure("Whoami", {
  UserName: text({}),
  IsAdmin: boolean({}),
  Groups: list(text({}), "The groups that the caller is in."),
  Limits: effectiveLimits("As they apply, groups and defaults counted. `null` is unlimited."),
  FilesURL: text({ description: "The files address, without a slash at its end: WebDAV for homes and datasets." }),
  MemoryUnit: oneOf({ description: "The unit of memory and disk.", values: ["bytes", "MiB", "GiB"] }),
  Version: text({ description: "The server's version." }),
})
export type Whoami = StructureValue<typeof whoami>

/** An access token. The secret itself is answered once, by the POST that makes it. */
export const tokenFields = {
  ID: integer({ description: "Primary key.", write: "never" }),
  Name: nameField("A name for its purpose."),
  CreatedAt: timestamp({ description: "Creation time." }),
  ExpiresAt: nullableTimestamp({ description: "When it stops working; null: never.", write: "optional" }),
  LastUsedAt: nullableTimestamp({ description: "When it was last used, to the minute." }),
  Scopes: custom<string[]>({
    description: 'The rights of the token: ["read"], ["read", "write"], or ["run:<ID>"], which opens that run\'s address and nothing else.',
    write: "optional",
    initial: ["read", "write"],
    schema: { type: "array", items: { type: "string" } },
    bodySchema: {
      anyOf: [
        { type: "array", items: { const: "read" }, minItems: 1, maxItems: 1 },
        { const: ["read", "write"] },
        { type: "array", items: { type: "string", pattern: "^run:[1-9][0-9]{0,15}$" }, minItems: 1, maxItems: 1 },
      ],
    },
    parse: (value, field) => {
      const scopes = Array.isArray(value) && value.every((entry) => typeof entry === "string") ? [...new Set(value)].sort() : []
      const fits = ["read", "read,write"].includes(scopes.join()) || (scopes.length === 1 && /^run:[1-9]\d{0,15}$/.test(String(scopes[0])))
      if (!fits) throw invalidField(field, '["read"], ["read", "write"] or ["run:<ID>"]', value)
      return scopes as string[]
    },
  }),
}
export type Token = AnswerValues<typeof tokenFields>
export const tokenModel = structure("Token", tokenFields)
export const newToken = structure("NewToken", { ...tokenFields, Token: text({ description: "The secret, answered this once." }) })

/** SHA-256 and 32 random bytes have this form in base64url. */
const digestForm = { max: 43, pattern: "^[A-Za-z0-9_-]{43}$" }
const digestOf = (what: string) => (value: string) => (/^[\w-]{43}$/.test(value) ? undefined : `${what} in base64url, 43 characters`)

/** A person allows the program that knows the verifier of the challenge a token. */
export const tokenCodeFields = {
  Name: tokenFields.Name,
  ExpiresAt: tokenFields.ExpiresAt,
  Scopes: tokenFields.Scopes,
  CodeChallenge: text({
    description: "SHA-256 of the program's verifier, in base64url (S256 of RFC 7636).",
    write: "required",
    format: digestOf("a SHA-256"),
    ...digestForm,
  }),
}
export const tokenCode = structure("TokenCode", {
  Code: text({ description: "Becomes the token, once." }),
  ExpiresAt: timestamp({ description: "When it stops working." }),
})
export const tokenExchangeFields = {
  Code: secret({ description: "The code.", write: "required", format: digestOf("a code"), ...digestForm }),
  CodeVerifier: secret({
    description: "The secret whose SHA-256 is the code's challenge: 43 to 128 characters.",
    write: "required",
    max: 128,
    pattern: "^[A-Za-z0-9._~-]{43,128}$",
    format: (value) => (/^[\w.~-]{43,128}$/.test(value) ? undefined : "43 to 128 letters, digits and -._~"),
  }),
}

/** A token for the files address. */
export const filesToken = structure("FilesToken", {
  Token: text({ description: "A Bearer token." }),
  ExpiresAt: timestamp({ description: "When it stops working." }),
})

/** A browser's session. */
export const session = structure("Session", {
  ID: integer({ description: "Primary key." }),
  UserName: text({ description: "Name of the person." }),
  CreatedAt: timestamp({ description: "When the person signed in." }),
  LastUsedAt: nullableTimestamp({ description: "When it was last used, to the minute." }),
  ExpiresAt: timestamp({ description: "When it ends by itself." }),
  Address: text({ description: "The address from which the person signed in." }),
  Browser: text({ description: "The browser as it described itself then (`User-Agent`), cut off." }),
  IsCurrent: boolean({ description: "Whether this request was made with it." }),
})
export type Session = StructureValue<typeof session>

export const signInFields = {
  UserName: text({ description: "Name of the account.", max: 64, write: "required" }),
  Password: password("The password.", "required"),
}
