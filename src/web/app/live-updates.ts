import { useEffect } from "react"
import type { ServerEvent } from "#contract"
import { syncCache } from "../api/events/sync-cache.ts"
import { apiQuery, queryClient } from "../api/queries.ts"
import { showToast } from "../components/toast.tsx"
import { announceSession, followSession } from "./session.ts"

/** Keeps the page in step with the server and with the other tabs of the browser. */
export function useLiveUpdates(): void {
  useEffect(() => {
    const person = queryClient.getQueryData(apiQuery("whoami").queryKey)
    if (person) announceSession(person.UserName)
    const stops = [syncCache(queryClient, { onEvent: announce }), followSession()]
    return () => {
      for (const stop of stops) stop()
    }
  }, [])
}

function announce({ event, data }: ServerEvent): void {
  if (event === "run.warning" && data.Warning) showToast(data.Warning, { type: "warning" })
}
