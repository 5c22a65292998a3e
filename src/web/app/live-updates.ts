import { useEffect } from "react"
import type { ServerEvent } from "#contract"
import { followServer } from "../api/follow.ts"
import { queryClient } from "../api/queries.ts"
import { showToast } from "../components/toast.tsx"
import { followSession } from "./session.ts"

/** Keeps the page in step with the server and with the other tabs of the browser. */
export function useLiveUpdates(): void {
  useEffect(() => {
    const stops = [followServer(queryClient, { onEvent: announce }), followSession()]
    return () => {
      for (const stop of stops) stop()
    }
  }, [])
}

function announce({ event, data }: ServerEvent): void {
  if (event === "run.warning" && data.Warning) showToast(data.Warning, { type: "warning" })
}
