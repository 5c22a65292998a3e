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
  ...layout('import "../files/index.ts"', "a folder is reached around its door"),
  ...layout('import "#files/handler.ts"', "a file behind a door is imported"),
  ...layout('import "#files"', "a folder imports one that comes after it"),
  ...layout('import "./call"', "an import has no ending"),
  ...layout('import "left-pad"', "a package is imported that is no dependency"),
  ...layout('export const rows = "select id from runs"', "the gateway asks the database"),
  ...layout("export const home = process.env.HOME", "the gateway reads the environment"),
  ...layout('process.on("SIGTERM", () => {})', "the gateway catches signals"),
  ...layout("export const end = () => process.exit(1)", "the gateway ends the process"),
  ...layout('import "node:fs"', "the contract needs Node", "src/contract/states.ts", "export const projectTypes"),
]

/** A line more in a file, which the test of the layout must notice. */
function layout(line: string, fault: string, file = "src/gateway/host.ts", before = "export interface GatewayHost {"): Mutant[] {
  return [{ file, fault, find: before, replace: `${line}\n${before}`, tests: ["test/architecture.test.ts"] }]
}
