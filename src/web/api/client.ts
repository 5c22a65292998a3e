import { type Client, createClient } from "#client"
import { connection } from "./connection.ts"

/**
 * The API's client of this page. Its requests carry the session's cookie. Every response and every
 * lost connection also tells the page whether the server answers and knows the person.
 */
export const client: Client = createClient({ baseUrl: "", fetch: observedFetch })

async function observedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  try {
    const response = await fetch(input, init)
    connection.setAway(response.status === 502 || response.status === 504)
    const isSignIn = init?.method === "POST" && input === "/session"
    if (response.status === 401 && !isSignIn && !(await isWrongPassword(response))) connection.setExpired(true)
    return response
  } catch (error) {
    if (error instanceof TypeError) connection.setAway(true)
    throw error
  }
}

/** A wrong present password of a form is also 401, but names its field. */
async function isWrongPassword(response: Response): Promise<boolean> {
  // A proxy's 401 may be no JSON.
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined)
  return typeof body === "object" && body !== null && "field" in body
}
