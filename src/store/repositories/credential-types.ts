import type { RowPage, RowPageRequest, SessionRow, TokenCodeRow, TokenRow } from "../rows.ts"

export interface TokenReads {
  get(id: number): Promise<TokenRow | undefined>
  byHash(hash: string): Promise<TokenRow | undefined>
  list(userId: number, page: RowPageRequest): Promise<RowPage<TokenRow>>
}
export interface TokenWrites {
  insert(row: Omit<TokenRow, "id" | "createdAt" | "lastUsedAt">): Promise<TokenRow>
  delete(id: number): Promise<boolean>
  markUsed(id: number, at: number): Promise<void>
  deleteOfUser(userId: number): Promise<void>
}

export interface SessionReads {
  byHash(hash: string): Promise<SessionRow | undefined>
}
export interface SessionWrites {
  insert(row: Omit<SessionRow, "createdAt">): Promise<SessionRow>
  delete(hash: string): Promise<void>
  deleteOfUser(userId: number, exceptHash?: string): Promise<void>
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
