/** A small fault that the tests must notice. */
export interface Mutant {
  file: string
  /** What is wrong then, in words. */
  fault: string
  /** Stands in the file exactly once. */
  find: string
  replace: string
  /** The files that run; at least one test in them must fail. */
  tests: readonly string[]
}

/** `script/test --mutants` puts them into a copy of the tree, one at a time. */
export const mutants: readonly Mutant[] = [
  {
    file: "src/kit/beneath.ts",
    fault: "a link to a directory is followed",
    find: "constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW",
    replace: "constants.O_RDONLY | constants.O_DIRECTORY",
    tests: ["src/engine/docker/pins.test.ts"],
  },
  {
    file: "src/access/policy.ts",
    fault: "a token for one run opens every run",
    find: "(thing && thing.id !== run)",
    replace: "false",
    tests: ["src/access/policy.test.ts"],
  },
  {
    file: "src/access/policy.ts",
    fault: "what is hidden answers as forbidden",
    find: 'return "hidden"',
    replace: 'return "forbidden"',
    tests: ["src/access/policy.test.ts"],
  },
  {
    file: "src/access/policy.ts",
    fault: "a token's scopes do not count",
    find: "const scoped = run !== undefined || actor.scopes.includes(right.scope)",
    replace: "const scoped = true",
    tests: ["src/access/policy.test.ts"],
  },
  {
    file: "src/gateway/host.ts",
    fault: "a folder is reached around its door",
    find: "export interface GatewayHost {",
    replace: 'import "../files/index.ts"\nexport interface GatewayHost {',
    tests: ["test/architecture.test.ts"],
  },
]
