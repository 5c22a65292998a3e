import { apiQuery } from "../../api/queries.ts"

/** The person's runs that are not over: both the cards and the list of projects need them. */
export function ownRunsQuery(userName: string) {
  return apiQuery("listRuns", { query: { UserName: userName, pageSize: 60 } })
}
