import type { ServerResponse } from "node:http"
import { bounds } from "#contract"

const unreadMs = bounds.texts.unreadAnswerMs.value

/**
 * Closes the connection of a reader that reads nothing of its response. An idle connection has its
 * own time limit.
 */
export function closeIfUnread(response: ServerResponse): void {
  response.setTimeout(unreadMs, () => response.destroy())
  response.once("finish", () => response.setTimeout(0))
}
