import { queryOptions } from "@tanstack/react-query"
import type { ServerEvent } from "#contract"

/** The last known step of fetching an image. Only events fill it: no request reads it. */
export function imagePullQuery(id: number) {
  return queryOptions<ServerEvent["data"] | null>({
    queryKey: ["imagePull", id],
    queryFn: () => null,
    staleTime: Number.POSITIVE_INFINITY,
    enabled: false,
  })
}
