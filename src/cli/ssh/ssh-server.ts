import { timingSafeEqual } from "node:crypto"
import { once } from "node:events"
import type { Socket } from "node:net"
import { Duplex, type Readable, type Writable } from "node:stream"
import ssh2, { type AuthContext, type Connection, type PublicKeyAuthContext } from "ssh2"
import type { Multiplexer } from "#channel"
import { publicKey } from "./keys.ts"
import { serveLocalForward, serveRemoteForwards } from "./port-forwards.ts"
import { serveSession } from "./sessions.ts"

export interface SshServerOptions {
  input: Readable
  output: Writable
  /** To the run. */
  connection: Multiplexer
  /** Private keys: this end's own, and the only one that may sign in. */
  hostKey: string
  identity: string
}

/** Speaks ssh with the program at the other end of two pipes, until one of both leaves. */
export async function serveSsh({ input, output, connection, hostKey, identity }: SshServerOptions): Promise<void> {
  const server = new ssh2.Server({ hostKeys: [hostKey], ident: "quayside" })
  const pipes = new Pipes(input, output)
  const known = publicKey(identity).public
  const accepted = once(server, "connection") as Promise<[Connection & { end(): void }]>
  server.injectSocket(pipes as unknown as Socket)
  const [client] = await accepted
  client.on("authentication", (context) => authenticate(context, identity, known))
  const forwardsAreAnswered = serveRemoteForwards(connection, client)
  // As with `sshd`: a short program must not end before `ssh` knows that a port was refused.
  client.on("session", async (accept) => {
    await forwardsAreAnswered()
    serveSession(accept(), connection)
  })
  client.on(
    "tcpip",
    (accept, reject, { destIP, destPort }) => void serveLocalForward(connection, { accept, reject, host: destIP, port: destPort }),
  )
  // An error of the transport ends the connection, which is all that matters.
  client.on("error", () => {})
  pipes.on("error", () => {})
  void connection.closed.then(() => client.end())
  await once(client, "close")
}

/** `ssh` first asks whether a key would do, and then proves that it has it. */
function authenticate(context: AuthContext, identity: string, known: Buffer): void {
  if (context.method === "publickey" && isSame(context.key.data, known) && isSignatureValid(context, identity)) context.accept()
  else context.reject(["publickey"])
}

function isSignatureValid({ signature, blob, hashAlgo }: PublicKeyAuthContext, identity: string): boolean {
  if (!signature || !blob) return true
  const key = ssh2.utils.parseKey(identity)
  return !(key instanceof Error) && key.verify(blob, signature, hashAlgo) === true
}

function isSame(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Two pipes as the one that a library of sockets wants. */
class Pipes extends Duplex {
  readonly #input: Readable
  readonly #output: Writable

  constructor(input: Readable, output: Writable) {
    super()
    this.#input = input
    this.#output = output
    input.on("data", (chunk) => this.push(chunk) || input.pause())
    input.on("end", () => this.push(null))
    for (const pipe of [input, output]) pipe.on("error", (error) => this.destroy(error))
  }

  override _read(): void {
    this.#input.resume()
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    if (this.#output.write(chunk)) done()
    else this.#output.once("drain", done)
  }

  override _final(done: () => void): void {
    this.#output.end(done)
  }
}
