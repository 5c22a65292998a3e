import { faults } from "./mutant.ts"

/** Who may do what. */
export const access = [
  ...faults(
    "src/access/policy.ts",
    ["src/access/policy.test.ts"],
    [
      ["a token for one run opens every run", "(thing && thing.id !== run)", "false"],
      ["what is hidden answers as forbidden", 'return "hidden"', 'return "forbidden"'],
      ["a token's scopes do not count", "const scoped = run !== undefined || actor.scopes.includes(right.scope)", "const scoped = true"],
    ],
  ),
]
