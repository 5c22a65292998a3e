import assert from "node:assert/strict"
import { test } from "node:test"
import { IsolationError } from "../../engine.ts"
import { firewallError, IptablesError } from "./iptables.ts"

test("missing tools, a missing right and rejected rules are isolation errors with a sentence each", () => {
  const sentences: [RegExp, IptablesError[]][] = [
    [
      /needs iptables, which is not installed/,
      [new IptablesError("iptables-save: not found", true), new IptablesError("iptables-nft-save: not found", true)],
    ],
    [
      /the right to set firewall rules/,
      [new IptablesError("iptables-save: Permission denied", false), new IptablesError("not found", true)],
    ],
    [/which iptables cannot set/, [new IptablesError("iptables-restore: unknown option", false)]],
  ]
  for (const [sentence, failures] of sentences) {
    const error = firewallError("iptables", failures)
    assert.ok(error instanceof IsolationError)
    assert.match(error.message, sentence)
    assert.equal(error.detail, failures.map(({ message }) => message).join("\n"))
  }
})
