import type { RowPage, RowPageRequest, SessionRow, TokenCodeRow, TokenRow } from "../rows.ts"

export interface TokenReads {
  get(id: number): Promise<TokenRow | undefined>
  byHash(hash: string): Promise<TokenRow | undefined>
  list(userId: number, page: RowPageRequest): Promise<RowPage<TokenRow>>
}
export interface TokenWrites {
  insert(row: Omit<TokenRow, "id" | "createdAt" | "lastUsedAt">): Promise<TokenRow>
  delete(id: number): Promise<boolean>
  markUsed(ids: readonly number[], at: number): Promise<void>
  deleteOfUser(userId: number): Promise<void>
}

export interface SessionReads {
  get(id: number): Promise<SessionRow | undefined>
  byHash(hash: string): Promise<SessionRow | undefined>
  /** Sessions that have not expired, newest first; without a person, everybody's. */
  list(userId: number | undefined, page: RowPageRequest): Promise<RowPage<SessionRow>>
}
export interface SessionWrites {
  insert(row: Pick<SessionRow, "hash" | "userId" | "expiresAt" | "address" | "browser">): Promise<SessionRow>
  delete(hash: string): Promise<void>
  markUsed(ids: readonly number[], at: number): Promise<void>
  /** Returns the IDs of the deleted ones. */
  deleteOfUser(userId: number, exceptHash?: string): Promise<number[]>
  /** Removes all but a person's newest `maxSessions`. Returns how many. */
  deleteOld(userId: number, maxSessions: number): Promise<number>
  deleteExpired(now: number): Promise<number>
}

export interface TokenCodeReads {
  byHash(hash: string): Promise<TokenCodeRow | undefined>
}
export interface TokenCodeWrites {
  insert(row: Omit<TokenCodeRow, "createdAt">): Promise<void>
  /** False if there was none. */
  delete(hash: string): Promise<boolean>
  /** Removes all but a person's newest `maxCodes`. Returns how many. */
  deleteOld(userId: number, maxCodes: number): Promise<number>
  deleteExpired(now: number): Promise<number>
}
