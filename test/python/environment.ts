import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { mkdir, rename, rm } from "node:fs/promises"
import { join, resolve } from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)
const root = resolve(import.meta.dirname, "../..")
export const packageDirectory = join(root, "clients/python")
const requirements = join(packageDirectory, "requirements-test.txt")
const quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]

/** Python with the packages of `requirements-test.txt`, and their wheels for other environments. */
export interface PythonTools {
  readonly python: string
  readonly bin: string
  readonly wheels: string
  /** For `PYTHONPATH`: makes its packages importable elsewhere. */
  readonly packages: string
  /** The cache directory of mypy. */
  readonly typeCache: string
}

/** Made in `.cache` on first use, and again when the requirements change. */
export async function ensurePythonTools(): Promise<PythonTools> {
  const { stdout: version } = await run("python3", ["-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
  const key = createHash("sha256").update(version).update(readFileSync(requirements)).digest("hex").slice(0, 12)
  const directory = join(root, ".cache", `python-client-${key}`)
  const [venv, wheels] = [join(directory, "venv"), join(directory, "wheels")]
  const bin = join(venv, "bin")
  if (!existsSync(join(directory, "complete"))) {
    await rm(directory, { recursive: true, force: true })
    await mkdir(join(directory, "unfinished"), { recursive: true })
    await run("python3", ["-m", "venv", venv])
    await run(join(bin, "pip"), ["download", ...quiet, "--dest", wheels, "--requirement", requirements])
    await run(join(bin, "pip"), ["install", ...quiet, "--no-index", "--find-links", wheels, "--requirement", requirements])
    await rename(join(directory, "unfinished"), join(directory, "complete"))
  }
  return {
    python: join(bin, "python"),
    bin,
    wheels,
    packages: join(venv, "lib", `python${version.trim()}`, "site-packages"),
    typeCache: join(directory, "mypy"),
  }
}

/** Builds the source distribution, and from it alone the wheel, into a directory. */
export async function buildPackage(tools: PythonTools, into: string): Promise<{ sdist: string; wheel: string }> {
  await run(join(tools.bin, "hatchling"), ["build", "--target", "sdist", "--directory", into], { cwd: packageDirectory })
  const version = /^version = "(.*)"$/m.exec(readFileSync(join(packageDirectory, "pyproject.toml"), "utf8"))?.[1]
  const sdist = join(into, `quayside-${version}.tar.gz`)
  const words = ["wheel", ...quiet, "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", into, sdist]
  await run(join(tools.bin, "pip"), words, { env: { ...process.env, PATH: `${tools.bin}:${process.env.PATH}` } })
  return { sdist, wheel: join(into, `quayside-${version}-py3-none-any.whl`) }
}

/** A fresh environment with the wheel and its declared dependencies. */
export async function installFresh(tools: PythonTools, directory: string, wheel: string): Promise<string> {
  await run("python3", ["-m", "venv", "--without-pip", directory])
  const python = join(directory, "bin/python")
  const words = ["--python", python, "install", ...quiet, "--no-compile", "--no-index", "--find-links", tools.wheels, wheel]
  await run(join(tools.bin, "pip"), words)
  return python
}
