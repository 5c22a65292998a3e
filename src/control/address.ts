import type { RunRow } from "#store"

/** The path of every control connection; `ID` selects the run. */
export const controlPath = "/control"

/** The address of a run's control connection. */
export function controlUrl(baseUrl: string, runId: number): string {
  return `${baseUrl.replace(/^http/, "ws")}${controlPath}?ID=${runId}`
}

/** Whether the run has a container that a control connection can reach. */
export function isControllable({ state }: Pick<RunRow, "state">): boolean {
  return state === "starting" || state === "ready"
}
