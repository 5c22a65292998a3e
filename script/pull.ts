// Pulls an image, and gives up when for 15 s no progress came: behind a closed network a plain pull
// may hang. Usage: node script/pull.ts IMAGE Exit code 0 when the engine has it, 1 when it cannot
// be had.

import Docker from "dockerode"

const patience = 15_000
const image = process.argv[2]
if (image === undefined) throw new Error("Usage: node script/pull.ts IMAGE")

const gaveUp = new AbortController()
let timer = setTimeout(giveUp, patience)

function giveUp(): void {
  gaveUp.abort()
  process.stderr.write(`  no progress for ${patience / 1000} s\n`)
  process.exit(1)
}

try {
  const docker = new Docker()
  const stream = await docker.pull(image, { abortSignal: gaveUp.signal })
  await new Promise<void>((resolve, reject) => {
    docker.modem.followProgress(
      stream,
      (error) => (error ? reject(error) : resolve()),
      () => {
        clearTimeout(timer)
        timer = setTimeout(giveUp, patience)
      },
    )
  })
  process.exit(0)
} catch (error) {
  process.stderr.write(`  ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}
