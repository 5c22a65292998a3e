// The build of the web UI: from src/web and what it imports to dist/web, which Quayside serves.

import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"

const root = resolve(import.meta.dirname, "../..")
const outDir = join(root, "dist/web")
const inputs = ["src/web", "src/channel", "src/client", "src/contract", "package-lock.json", "script/lib/web-build.ts"]
/** Names the state of the inputs of which the build was made. */
const stampFile = "inputs.sha256"

/** Builds the web UI unless the build is of the present inputs. Returns whether it built. */
export async function ensureWebBuild(): Promise<boolean> {
  const stamp = await inputsStamp()
  if (!(await isStale(stamp))) return false
  await buildWeb(stamp)
  return true
}

async function isStale(stamp: string): Promise<boolean> {
  const built = await readFile(join(outDir, stampFile), "utf8").catch(() => undefined)
  return built !== stamp
}

/** A hash of the content of all inputs, so that a switch of branches and back builds nothing. */
async function inputsStamp(): Promise<string> {
  const files = (await Promise.all(inputs.map(filesOf))).flat().sort()
  const hash = createHash("sha256")
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(await readFile(join(root, file)))
      .update("\0")
  return hash.digest("hex")
}

async function filesOf(path: string): Promise<string[]> {
  if (path.includes(".")) return [path]
  const entries = await readdir(join(root, path), { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && !entry.name.endsWith(".test.ts"))
  return files.map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
}

/** Builds beside the present build and renames, so that two builds at once leave a whole one. */
async function buildWeb(stamp: string): Promise<void> {
  // Vite is loaded only here: a check for staleness takes milliseconds.
  const { build } = await import("vite")
  const next = `${outDir}.${process.pid}`
  const previous = `${next}.old`
  await build({
    configFile: false,
    root: join(root, "src/web"),
    base: "/ui/",
    publicDir: false,
    logLevel: "warn",
    build: {
      outDir: next,
      emptyOutDir: true,
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      chunkSizeWarningLimit: 1_000,
      rolldownOptions: {
        // A page loads only the components and parts of the contract that it uses.
        treeshake: { moduleSideEffects: [{ test: /\/src\/(web\/components|contract)\//, sideEffects: false }] },
        // Packages mark files for servers that render React; here all runs in the browser.
        onwarn: (warning, report) => warning.code !== "MODULE_LEVEL_DIRECTIVE" && report(warning),
      },
    },
  })
  await compressFiles(join(next, "assets"))
  await writeFile(join(next, stampFile), stamp)
  if (existsSync(outDir)) await rename(outDir, previous).catch(() => {})
  await rename(next, outDir).catch(() => rm(next, { recursive: true, force: true }))
  await rm(previous, { recursive: true, force: true })
}

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

/** Writes each file once more by Brotli and by gzip, for the browsers that accept these. */
async function compressFiles(directory: string): Promise<void> {
  await Promise.all(
    (await readdir(directory)).map(async (name) => {
      const path = join(directory, name)
      const bytes = await readFile(path)
      await writeFile(`${path}.br`, await brotli(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }))
      await writeFile(`${path}.gz`, await zip(bytes, { level: 9 }))
    }),
  )
}
