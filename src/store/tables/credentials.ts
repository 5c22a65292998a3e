import { generatedId, integer, joinedName, json, nullableInteger, text } from "./column.ts"
import { pickFields, type RowOf } from "./row-mapper.ts"
import { describeTable } from "./table.ts"

export const tokensTable = describeTable({
  name: "tokens",
  fields: {
    id: generatedId(),
    userId: integer("user_id"),
    name: text("name"),
    /** SHA-256 of the token, hexadecimal. */
    hash: text("hash"),
    createdAt: integer("created_at"),
    expiresAt: nullableInteger("expires_at"),
    lastUsedAt: nullableInteger("last_used_at", { written: "never" }),
    /** `read`, `write`, `run:<ID>`. */
    scopes: json<string[]>()("scopes"),
  },
})
export interface TokenRow extends RowOf<typeof tokensTable.fields> {}

export const sessionsTable = describeTable({
  name: "sessions",
  fields: {
    id: generatedId(),
    /** SHA-256 of the cookie's secret, hexadecimal. */
    hash: text("hash"),
    userId: integer("user_id"),
    userName: joinedName("user_name"),
    createdAt: integer("created_at"),
    expiresAt: integer("expires_at"),
    lastUsedAt: nullableInteger("last_used_at", { written: "never" }),
    /** The address of the sign-in. */
    address: text("address"),
    /** `User-Agent` of the sign-in. */
    browser: text("browser"),
  },
})
export interface SessionRow extends RowOf<typeof sessionsTable.fields> {}

export const tokenCodesTable = describeTable({
  name: "token_codes",
  fields: {
    /** SHA-256 of the code, hexadecimal. */
    hash: text("hash"),
    userId: integer("user_id"),
    /** The credential that allowed the token; the code ends with it. */
    credentialId: text("credential_id"),
    /** SHA-256 of the client's verifier, base64url. */
    challenge: text("challenge"),
    createdAt: integer("created_at"),
    expiresAt: integer("expires_at"),
    name: text("name"),
    tokenExpiresAt: nullableInteger("token_expires_at"),
    scopes: json<string[]>()("scopes"),
  },
})
/** A one-time code that becomes a token. */
export interface TokenCodeRow extends RowOf<typeof tokenCodesTable.fields> {}

export const openidSubjectsTable = describeTable({
  name: "openid_subjects",
  fields: {
    issuer: text("issuer"),
    /** The provider's own name for the person, which it never gives to another. */
    subject: text("subject"),
    userId: integer("user_id"),
    createdAt: integer("created_at"),
  },
})
/** A person's identity at an OpenID provider. */
export interface SubjectRow extends RowOf<typeof openidSubjectsTable.fields> {}

export const subjectUserMapper = pickFields(openidSubjectsTable, ["userId"])
