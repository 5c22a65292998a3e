import assert from "node:assert/strict"
import { test } from "node:test"
import { mountCommand } from "./mount.ts"

test("a server's words add no option to the command that mounts as root", () => {
  const facts = { address: "https://files.example.com/users/ann/", target: "/home/ann/data", userName: "ann" }
  assert.match(mountCommand("linux", facts).join(" "), /-o username=ann,uid=\d+ https:\S+ \/home\/ann\/data$/)
  for (const hostile of [
    { userName: "ann,suid,file_mode=4755" },
    { userName: "" },
    { address: "--bind" },
    { address: "file:///etc/" },
    { address: "https://x/ -o suid" },
  ])
    assert.throws(() => mountCommand("linux", { ...facts, ...hostile }), /no name and address/)
})
