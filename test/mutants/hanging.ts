import { at, faults } from "./mutant.ts"

/**
 * Faults that no test's own bound ends, with something that is left then: what `script/mutants.ts`
 * does about such is tested with them, and they count for nothing else.
 */
export const hanging = [
  ...faults(
    "src/engine/docker/network/subnet-pool.ts",
    ["src/engine/docker/network/subnet-pool.test.ts"],
    [
      [
        "a process is blocked and has started another",
        at("SubnetPool.pick", "pick(isTaken:"),
        'pick = (process.getBuiltinModule("node:child_process").spawn("sleep", ["1000"], { stdio: "ignore", cwd: process.env.TMPDIR }), () => { for (;;); })\n  #pick(isTaken:',
      ],
    ],
  ),
  ...faults(
    "src/engine/docker/containers/remove-container.ts",
    ["test/attacks/groups.docker.test.ts"],
    [
      [
        "a process is blocked and has started containers",
        at("stopContainer", "const seconds = Math.ceil("),
        "for (;;);\n  const seconds = Math.ceil(",
      ],
    ],
  ),
]
