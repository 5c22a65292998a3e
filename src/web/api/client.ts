import { type Client, createClient, type RequestOptions } from "#client"
import { BodyChanges, type Endpoint, endpoints, type OperationId, parseRequestBody } from "#contract"
import { connection } from "./connection.ts"

/**
 * The API's client of this page. Its requests carry the session's cookie. Every response and every
 * lost connection also tells the page whether the server answers and knows the person.
 */
export const client: Client = withCheckedBodies(createClient({ baseUrl: "", fetch: observedFetch }))

/**
 * Checks each body by the contract's own fields before it is sent: a form says at once, with the
 * server's words, what is wrong.
 */
function withCheckedBodies(unchecked: Client): Client {
  const methods = Object.entries(unchecked).map(([operation, method]) => {
    const { body: shape }: Endpoint = endpoints[operation as OperationId]
    const send = method as (request?: RequestOptions<OperationId>) => Promise<unknown>
    const checked = async (request?: RequestOptions<OperationId>) => {
      const parsed = shape && request?.body && parseRequestBody(shape, request.body)
      if (parsed instanceof BodyChanges) parsed.check()
      return send(request)
    }
    return [operation, checked]
  })
  return Object.fromEntries(methods) as Client
}

async function observedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  try {
    const response = await fetch(input, init)
    connection.setUnreachable(response.status === 502 || response.status === 504)
    const isSignIn = init?.method === "POST" && input === "/session"
    if (response.status === 401 && !isSignIn && !(await isWrongPassword(response))) connection.setExpired(true)
    return response
  } catch (error) {
    if (error instanceof TypeError) connection.setUnreachable(true)
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
