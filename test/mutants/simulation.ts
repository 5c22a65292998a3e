import { at, faults } from "./mutant.ts"

const tests = ["src/runs/testing/simulation/simulation.test.ts"]

/** Guards that only rare sequences of faults need. The seed that catches each is a test's name. */
export const simulation = [
  ...faults("src/runs/lifecycle/ending.ts", tests, [
    ["a run that is being stopped fails with another reason", at("failRun", " from: unstopped,"), ""],
  ]),
  ...faults("src/runs/lifecycle/run-controller.ts", tests, [
    ["a resumed start fails while its container runs", at("RunController.#handleFailure", "!this.#wasSubmitted &&"), ""],
  ]),
  ...faults(
    "src/runs/lifecycle/run-controller.ts",
    ["src/runs/lifecycle/store-down.test.ts"],
    [["a run that has ended is started again", at("RunController.#run", "mayBeStale ||= !(error instanceof EngineError)"), ""]],
  ),
  ...faults(
    "src/runs/lifecycle/supervisor.ts",
    ["src/runs/lifecycle/gpu-ledger.test.ts"],
    [["the end of a queued run frees a container's GPU", at("Supervisor.handleChange", "if (run.startTime !== null) "), ""]],
  ),
  ...faults(
    "src/runs/lifecycle/transitions.ts",
    ["src/runs/lifecycle/store-down.test.ts"],
    [
      [
        "a controller repeats a move whose COMMIT was not answered",
        at("transitionInTransaction", "tx.afterCommit(() => publishStored(ctx, step.id, current))"),
        "",
      ],
      ["a pruned run stays in memory", at("publishStored", "else if (known)"), "else if (known && known.endTime !== null)"],
    ],
  ),
]
