import assert from "node:assert/strict"
import { test } from "node:test"
import { IsolationError } from "../../engine.ts"
import { firewallError, ToolError } from "./iptables.ts"

test("missing tools, a missing right and rejected rules are isolation errors with a sentence each", () => {
  const sentences: [RegExp, ToolError[]][] = [
    [
      /needs iptables, which is not installed/,
      [new ToolError("iptables-save: not found", true), new ToolError("iptables-nft-save: not found", true)],
    ],
    [/the right to set firewall rules/, [new ToolError("iptables-save: Permission denied", false), new ToolError("not found", true)]],
    [/which iptables cannot set/, [new ToolError("iptables-restore: unknown option", false)]],
  ]
  for (const [sentence, failures] of sentences) {
    const error = firewallError("iptables", failures)
    assert.ok(error instanceof IsolationError)
    assert.match(error.message, sentence)
    assert.equal(error.detail, failures.map(({ message }) => message).join("\n"))
  }
})
