import { faults } from "./mutant.ts"

/** Limits, admission, and what runs that go on again are made of. */
export const runs = [
  ...faults(
    "src/runs/limits/limit-enforcer.ts",
    ["src/runs/limits/limit-enforcer.test.ts"],
    [
      [
        "an idle run ends sooner than it was warned of",
        "clock.now() - usedAt >= idleMs && clock.now() - warned.at >= lead",
        "clock.now() - usedAt >= idleMs",
      ],
      [
        "an idle run ends without its whole time",
        "clock.now() - usedAt >= idleMs && clock.now() - warned.at >= lead",
        "clock.now() - warned.at >= 0",
      ],
      ["a run of which nothing is known is idle", " || !this.#usage.isCpuUseKnown(run.id)) return false", ") return false"],
      ["a busy kernel does not count", "if (await isComputing(this.#ctx, run)) {", "if (false) {"],
      ["a warning of an earlier idleness counts again", "if (warned?.usedAt === usedAt) {", "if (warned) {"],
      ["the longest time does not end", 'if (left <= 0) return this.#stop(run, "max_time")', "if (left <= 0) return false"],
      ["the run that wrote least is ended", ".sort((a, b) => b.bytes - a.bytes)", ".sort((a, b) => a.bytes - b.bytes)"],
      ["the disk of a group is not counted together", "counts: (run: RunRow) => quota.members.has(run.userName)", "counts: () => false"],
      ["a run that only its own bound fills is not told", "for (const run of left) this.#warnOfEngineLimit(run)", ""],
    ],
  ),
  ...faults(
    "src/runs/admission/fair-order.ts",
    ["src/runs/admission/fair-order.test.ts"],
    [
      [
        "one person's queued runs are one behind the other",
        "const line = byPerson.get(run.userId)",
        "const line = [...byPerson.values()][0]",
      ],
      ["the person who was served last comes first", "Number.POSITIVE_INFINITY : Math.max(", "Number.NEGATIVE_INFINITY : Math.max("],
    ],
  ),
  ...faults(
    "src/runs/admission/quotas.ts",
    ["src/runs/admission/queue.test.ts"],
    [
      ["the queue of one person has no bound", "limit: limits.MaxQueued,", "limit: null,"],
      ["the queue of a group has no bound", "limit: MaxQueued,", "limit: null,"],
    ],
  ),
  ...faults(
    "src/runs/runs.ts",
    ["src/runs/limits/heavy-user.integration.test.ts"],
    [["the history is never pruned", " pruneHistory(ctx),", ""]],
  ),
  ...faults(
    "src/api/operation.ts",
    ["test/api/limits.test.ts"],
    [["rates are not counted", "if (caller && !caller.isAdmin) consumeRate(", "if (false) count("]],
  ),
  ...faults(
    "src/projects/object-limits.ts",
    ["test/api/limits.test.ts"],
    [["objects are not counted", "if (caller.isAdmin) return", "return"]],
  ),
  ...faults(
    "src/runs/lifecycle/stop.ts",
    ["test/api/full-disk.test.ts"],
    [["a full disk keeps people from stopping runs", "() => ctx.store.change(work, { urgent: true })", "() => ctx.store.change(work)"]],
  ),
  ...faults(
    "src/runs/lifecycle/transitions.ts",
    ["test/api/full-disk.test.ts"],
    [["a full disk keeps runs from being over", "{ urgent: isEnd(step) }", "{ urgent: false }"]],
  ),
  ...faults(
    "src/runs/lifecycle/ending.ts",
    ["src/runs/lifecycle/store-down.test.ts"],
    [
      ["a stop on a full disk is taken for a loss", "reason: wish?.reason ?? why", "reason: why"],
      ["a run that the database cannot stop goes on", "if (!isStorageFull(error)) throw error", "throw error"],
      ["a later cause of an end takes the place of the first", "if (isFirst) ctx.pendingStops.set(", "ctx.pendingStops.set("],
      [
        "what a run printed that the database could not stop is lost",
        "    await removeContainer(ctx, run)\n",
        "    await stopEngine(ctx, run)\n",
      ],
      ["a stop that could not be is carried out later, unasked", "if (isFirst) ctx.pendingStops.delete(run.id)\n", ""],
    ],
  ),
  ...faults(
    "src/api/handlers/runs/runs.ts",
    ["test/api/hung-engine.docker.test.ts"],
    [
      [
        "who waits for a stop is told nothing when the service ends",
        "    signal: context.signal,\n  })\n  return { ok: true }",
        "  })\n  return { ok: true }",
      ],
    ],
  ),
  ...faults(
    "src/engine/docker/client/docker-client.ts",
    ["src/engine/docker/daemon.docker.test.ts"],
    [
      [
        "calls that take no signal wait for ever",
        "await abortable(work(docker as unknown as DockerApi, combined ? { abortSignal: combined } : {}), combined)",
        "await work(docker as unknown as DockerApi, both ? { abortSignal: both } : {})",
      ],
    ],
  ),
  ...faults(
    "src/runs/limits/effective-limits.ts",
    ["src/runs/limits/limit-enforcer.test.ts"],
    [
      [
        "a group's limit of disk bounds no run",
        "[limits.get(userId), ...quotas.map((quota) => quota.limits)].flatMap",
        "[limits.get(userId)].flatMap",
      ],
    ],
  ),
  ...faults(
    "src/runs/limits/usage-monitor.ts",
    ["src/runs/limits/limit-enforcer.test.ts"],
    [
      ["work does not count as use", "this.#activity.mark(run.id)", "void run.id"],
      ["a disk that fills is no reason to look", "if (!isFilling && clock.now()", "if (clock.now()"],
      ["what was freed hides what is taken", "Math.max(this.#maxFreeBytes, free ?? 0)", "this.#maxFreeBytes"],
      ["a full disk is looked at with every sample", "      this.#maxFreeBytes = free ?? 0\n", ""],
    ],
  ),
  ...faults(
    "src/runs/limits/usage-monitor.ts",
    ["test/api/runs.test.ts"],
    [["figures are kept after the end", "(this.#ctx.runCache.row(id) && this.#series.get(id)) ?? []", "this.#series.get(id) ?? []"]],
  ),
  ...faults(
    "src/runs/admission/quotas.ts",
    ["src/runs/admission/scheduler.test.ts"],
    [
      [
        "what an older one of the group waits for is taken by a younger",
        "for (const share of own) add(share.held, run)",
        "if (fits) for (const share of own) add(share.held, run)",
      ],
      ["a group's limit does not count one's own share", "for (const bound of bounds) {", "for (const bound of bounds.slice(0, 1)) {"],
    ],
  ),
  ...faults(
    "src/runs/lifecycle/run-controller.ts",
    ["src/runs/lifecycle/store-down.test.ts"],
    [
      [
        "a run that is gone keeps its address until that is written",
        "this.#ctx.runCache.setAddress(this.id, undefined)\n      this.#launch",
        "this.#launch",
      ],
    ],
  ),
  ...faults(
    "src/runs/lifecycle/adoption.ts",
    ["src/runs/lifecycle/orphans.test.ts"],
    [
      ["a device that is somebody else's is taken up", "spec.gpus.includes(device)", "false"],
      ["nothing is taken up", 'seen.state === "running" ? await', 'seen.state === "created" ? await'],
    ],
  ),
  ...faults(
    "src/projects/plan/authorize-plan.ts",
    ["test/api/runs.test.ts"],
    [
      [
        "a repeat has an image that its person may no longer use",
        '!forStarter || can(starter, "image:use", forStarter) !== "yes"',
        "!forStarter",
      ],
      ["a repeat has a dataset that its person may no longer use", 'if (mode !== "no") return', "if (true) return"],
    ],
  ),
  ...faults(
    "src/projects/plan/authorize-plan.ts",
    ["test/api/borrowed-rights.test.ts"],
    [
      [
        "a stranger's project borrows what its starter may do",
        "if (project.userId === starter.userId || (",
        "if (project.userId !== 0 || (",
      ],
      [
        "a stranger's project is written into by its starter's right",
        "const mode = lowerOf(mountRights.starter, mountRights.owner)",
        "const mode = mountRights.starter",
      ],
      [
        "a stranger's project runs its starter's private image",
        'if (owner && (!forOwner || can(owner, "image:use", forOwner) !== "yes"))',
        "if (!forStarter)",
      ],
    ],
  ),
  ...faults(
    "src/access/accounts/impersonate.ts",
    ["test/api/borrowed-rights.test.ts"],
    [["an administrator's right to everything is borrowed", "    isAdmin: false,", '    isAdmin: owner.userName === "admin",']],
  ),
  ...faults(
    "src/runs/lifecycle/launch-attempt.ts",
    ["test/api/stale-rights.test.ts"],
    [
      [
        "a start that fetches an image mounts by the rights of before",
        "this.#controller.signal, resolveMounts)",
        "this.#controller.signal)",
      ],
      [
        "a start that is taken up is not judged",
        "      await this.#replan()\n      await this.#untilStuck",
        "      await this.#untilStuck",
      ],
    ],
  ),
  ...faults(
    "src/runs/admission/queue-replanning.ts",
    ["test/api/stale-rights.test.ts"],
    [["a withdrawal ends no queued run", "await replanQueuedRun(ctx, run).catch(", "await Promise.resolve(run).catch("]],
  ),
  ...faults(
    "src/engine/docker/observe/container-stats.ts",
    ["src/engine/docker/observe/container-stats.test.ts"],
    [
      [
        "another process is taken for the container's",
        "if (!text?.includes(id)) return undefined",
        "if (text === undefined) return undefined",
      ],
    ],
  ),
]
