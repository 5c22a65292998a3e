import { useQuery } from "@tanstack/react-query"
import type { RunningProject } from "#contract"
import { apiQuery } from "../../api/queries.ts"

/** The person's run of a project that has not ended; null: there is none; undefined: not known. */
export function useOwnRun(ProjectID: number): RunningProject | null | undefined {
  const { data: person } = useQuery(apiQuery("whoami"))
  const query = { UserName: person?.UserName ?? "", ProjectID, pageSize: 1 }
  const { data: runs } = useQuery({ ...apiQuery("listRuns", { query }), enabled: person !== undefined })
  return runs && (runs.data[0] ?? null)
}
