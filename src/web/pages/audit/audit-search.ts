/** `from` and `to` are local times as date fields have them: `2026-11-22T16:40`. */
export interface AuditSearch {
  person?: string
  action?: string
  from?: string
  to?: string
  page?: number
}
