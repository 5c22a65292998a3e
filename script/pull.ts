// Pulls an image, and fails after 15 s without progress: a plain pull may hang in a closed network.
// Usage: node script/pull.ts IMAGE

import Docker from "dockerode"

const maxIdleMs = 15_000
const image = process.argv[2]
if (image === undefined) throw new Error("Usage: node script/pull.ts IMAGE")

const aborted = new AbortController()
let timer = setTimeout(abortPull, maxIdleMs)

function abortPull(): void {
  aborted.abort()
  process.stderr.write(`  no progress for ${maxIdleMs / 1000} s\n`)
  process.exit(1)
}

try {
  const docker = new Docker()
  const stream = await docker.pull(image, { abortSignal: aborted.signal })
  await new Promise<void>((resolve, reject) => {
    docker.modem.followProgress(
      stream,
      (error) => (error ? reject(error) : resolve()),
      () => {
        clearTimeout(timer)
        timer = setTimeout(abortPull, maxIdleMs)
      },
    )
  })
  process.exit(0)
} catch (error) {
  process.stderr.write(`  ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}
