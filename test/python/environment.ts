import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { mkdir } from "node:fs/promises"
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

const make = `
  [ ! -e "$1/complete" ] || exit 0
  rm -rf "$1"
  python3 -m venv "$1/venv"
  pip() { "$1/venv/bin/pip" "$2" --quiet --disable-pip-version-check --no-input --requirement "$3" "\${@:4}"; }
  pip "$1" download "$2" --dest "$1/wheels"
  pip "$1" install "$2" --no-index --find-links "$1/wheels"
  touch "$1/complete"`

/**
 * Made in `.cache` on first use, and again when the requirements change. Test files run at the same
 * time, so one of them makes it and the others wait.
 */
export async function ensurePythonTools(): Promise<PythonTools> {
  const { stdout: version } = await run("python3", ["-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
  const key = createHash("sha256").update(version).update(readFileSync(requirements)).digest("hex").slice(0, 12)
  await mkdir(join(root, ".cache"), { recursive: true })
  const directory = join(root, ".cache", `python-client-${key}`)
  await run("flock", [`${directory}.lock`, "bash", "-ec", make, "make", directory, requirements])
  const [venv, wheels] = [join(directory, "venv"), join(directory, "wheels")]
  const bin = join(venv, "bin")
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
