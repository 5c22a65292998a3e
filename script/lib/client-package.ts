// The npm package is built beside the checkout: Node strips no types below node_modules, and
// the checkout's own package.json is that of the server.

import { execFile } from "node:child_process"
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)
const root = resolve(import.meta.dirname, "../..")
/** `ws` and `ssh2` try these and work without. */
const optional = ["bufferutil", "utf-8-validate", "cpu-features", /sshcrypto\.node$/]

const program = `#!/usr/bin/env node
import { enableCompileCache } from "node:module"

enableCompileCache()
await import("./cli.js")
`

const readme = `# quayside

The command line and the typed client of Quayside, which runs containerized projects.

    npm install --global quayside
    quayside login https://quayside.example.com
    quayside --help

    import { bearerAuth, createClient, startRun } from "quayside"
`

/** Builds the package and packs it into a directory. Resolves with the tarball's path. */
export async function packClient(directory: string): Promise<string> {
  const stage = await mkdtemp(join(tmpdir(), "quayside-package-"))
  try {
    await Promise.all([buildCode(join(stage, "lib/bin")), buildTypes(stage)])
    await writeFile(join(stage, "lib/bin/quayside.js"), program, { mode: 0o755 })
    await writeFile(join(stage, "README.md"), readme)
    await writeFile(join(stage, "package.json"), `${JSON.stringify(await manifest(), null, 2)}\n`)
    await cp(join(root, "LICENSE"), join(stage, "LICENSE"))
    const { stdout } = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", stage], { cwd: stage })
    const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
    await mkdir(directory, { recursive: true })
    await cp(join(stage, filename), join(directory, `${filename}.part`))
    await rename(join(directory, `${filename}.part`), join(directory, filename))
    return join(directory, filename)
  } finally {
    await rm(stage, { recursive: true, force: true })
  }
}

async function buildCode(outDir: string): Promise<void> {
  const { build } = await import("vite")
  await build({
    configFile: false,
    root,
    publicDir: false,
    logLevel: "warn",
    ssr: { noExternal: true },
    // One of `ssh2`'s files is an older kind of module, and looks for its own directory.
    define: { __dirname: "import.meta.dirname" },
    build: {
      ssr: true,
      target: "node22",
      outDir,
      emptyOutDir: false,
      copyPublicDir: false,
      rolldownOptions: {
        external: optional,
        input: { cli: join(root, "src/main/packaged-cli.ts"), client: join(root, "src/client/package-entry.ts") },
        output: { entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js" },
      },
    },
  })
}

async function buildTypes(stage: string): Promise<void> {
  const config = join(stage, "tsconfig.json")
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: join(root, "src"),
    outDir: join(stage, "types"),
  }
  const types = { typeRoots: [join(root, "node_modules/@types")] }
  await writeFile(
    config,
    JSON.stringify({
      extends: join(root, "tsconfig.json"),
      compilerOptions: { ...compilerOptions, ...types },
      files: [join(root, "src/client/package-entry.ts")],
      include: [],
    }),
  )
  await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", config], { cwd: root })
  await rm(config)
}

async function manifest(): Promise<object> {
  const { name, version, license } = JSON.parse(await readFile(join(root, "package.json"), "utf8"))
  return {
    name,
    version,
    description: "The command line and the typed client of Quayside, which runs containerized projects.",
    license,
    type: "module",
    engines: { node: ">=22.12" },
    bin: { quayside: "lib/bin/quayside.js" },
    exports: {
      ".": { types: "./types/client/package-entry.d.ts", default: "./lib/bin/client.js" },
      "./package.json": "./package.json",
    },
    // The types import each other by the names of the checkout's folders.
    imports: { "#contract": { types: "./types/contract/index.d.ts" } },
    files: ["lib", "types"],
  }
}
