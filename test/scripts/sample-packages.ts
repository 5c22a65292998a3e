import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { chown, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { confined } from "./sample-containers.ts"

const run = promisify(execFile)

/** Makes a package without network: a wheel is a zip with a description. */
const makeWheel = `python3 - <<'PY'
import zipfile
with zipfile.ZipFile("/tmp/demo-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("demo.py", "def main(): print('installed')\\n")
    info = "demo-1.0.dist-info/"
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: demo\\nVersion: 1.0\\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(info + "entry_points.txt", "[console_scripts]\\ndemo = demo:main\\n")
    wheel.writestr(info + "RECORD", "")
PY`
const install = "install --quiet --no-index --disable-pip-version-check /tmp/demo-1.0-py3-none-any.whl"

/**
 * Asserts that terminals of an image find this program, and that packages which pip installs in a
 * terminal or a cell work and are there in a later run. The containers are confined as runs are.
 */
export async function assertPackagesWork(image: string, program: string): Promise<void> {
  for (const pip of ["pip", "python3 -m pip"]) {
    const home = await mkdtemp(join(tmpdir(), "quayside-packages-"))
    await chown(home, 1000, 1000)
    const inTerminal = async (script: string) => {
      const options = ["--rm", "--network", "none", ...confined, "--volume", `${home}:/work/home`, "--env", "HOME=/work/home"]
      return (await run("docker", ["run", ...options, "--entrypoint", "bash", image, "-lc", script])).stdout.trim()
    }
    try {
      const found = await inTerminal(`${makeWheel}\n${pip} ${install} && command -v ${program} && demo`)
      assert.match(found, new RegExp(`/${program}\ninstalled$`))
      assert.equal(await inTerminal("demo; python3 -c 'import demo; demo.main()'"), "installed\ninstalled")
    } finally {
      await rm(home, { recursive: true })
    }
  }
}
