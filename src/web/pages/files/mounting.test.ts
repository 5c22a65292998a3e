import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { test } from "node:test"
import { mountingGuides } from "./mounting.ts"

const guides = (agent: string, address = "https://files.example.com/users/ann/") => mountingGuides({ address, userName: "ann", agent })

test("the reader's own system comes first", () => {
  const first = (agent: string) => guides(agent)[0]?.system
  assert.equal(first("Mozilla/5.0 (Windows NT 10.0; Win64; x64)"), "windows")
  assert.equal(first("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)"), "mac")
  assert.equal(first("Mozilla/5.0 (X11; Linux x86_64)"), "linux")
  assert.deepEqual(
    guides("X11; Linux").map(({ system }) => system),
    ["linux", "windows", "mac", "rclone", "curl"],
  )
})

test("an address with quotes and spaces is one word for a shell", () => {
  const address = "http://localhost:8082/users/ann/it's; echo $HOME/"
  const command = guides("Linux", address).find(({ system }) => system === "curl")?.command ?? ""
  const words = execFileSync("sh", ["-c", `printf '%s\\n' ${command.split("\n")[0]}`])
    .toString()
    .trim()
    .split("\n")
  assert.equal(words.at(-1), address)
})
