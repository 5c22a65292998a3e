import { flushCompileCache, getCompileCacheDir } from "node:module"

/** What strips types from TypeScript: 30 MB and more that are never given back. (Measured with Node 26.10.) */
const compiler = "NativeModule internal/deps/amaro/dist/index"
const marker = "STARTED_AGAIN"

/** This process compiled what it runs; the next one finds it compiled. */
export class StartAgain extends Error {
  override readonly name = "StartAgain"
}

/** To be called when everything is loaded and nothing has begun: throws `StartAgain` after an install or an upgrade, once. */
export function demandCompiled(): void {
  const isAgain = process.env[marker] !== undefined
  delete process.env[marker]
  const { moduleLoadList } = process as unknown as { moduleLoadList: readonly string[] }
  const isUseful = moduleLoadList.includes(compiler) && getCompileCacheDir() !== undefined && process.execve !== undefined
  if (isUseful && !isAgain) throw new StartAgain("What was just compiled is started again")
}

/** The same process from its beginning. */
export function startAgain(): never {
  flushCompileCache()
  const words = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  process.execve?.(process.execPath, words, { ...process.env, [marker]: "1" } as Record<string, string>)
  throw new Error("The process could not be replaced")
}
