import { at, faults } from "./mutant.ts"

/** Limits, admission, and what runs that go on again are made of. */
export const runs = [
  ...faults(
    "src/runs/readiness/starting-programs.ts",
    ["src/runs/readiness/starting-programs.test.ts"],
    [
      [
        "one person's starting programs slow everybody's starts",
        at("StartingPrograms.slowdownOf", "((this.#counts.get(userId) ?? 0) * this.#counts.size)"),
        "[...this.#counts.values()].reduce((sum, count) => sum + count, 0)",
      ],
    ],
  ),
  ...faults(
    "src/engine/docker/client/call-queue.ts",
    ["src/engine/docker/client/call-queue.test.ts"],
    [
      [
        "one person's removals occupy all removals of the engine",
        "new OwnerQueue(engineStops.value, engineStopsOfPerson.value)",
        "new OwnerQueue(engineStops.value, engineStopsOfPerson.value && engineStops.value)",
      ],
    ],
  ),
  ...faults(
    "src/runs/limits/activity-tracker.ts",
    ["src/runs/limits/activity-tracker.test.ts"],
    [["the activity of all runs is written while everybody's changes wait", "const runsPerChange = 20", "const runsPerChange = 20_000"]],
  ),
  ...faults(
    "src/runs/admission/queue.ts",
    ["src/runs/admission/queue.test.ts"],
    [["all runs that leave the queue are planned in one change", at("dequeueSome", "ctx.clock.monotonic() >= until"), "false"]],
  ),
  ...faults(
    "src/runs/runs.ts",
    ["src/runs/admission/queue.test.ts"],
    [
      [
        "one person's previews put everybody's queue in order at once",
        "previews.run(request.userId, () => previewStart(ctx, input))",
        "previewStart(ctx, input)",
      ],
    ],
  ),
  ...faults(
    "src/store/repositories/runs.ts",
    ["src/store/repositories/runs.test.ts"],
    [
      [
        "each change of a run writes its plan again",
        at("RunRepository.update", "if (fields.spec !== undefined)"),
        "if (fields !== undefined)",
      ],
      ["the plan of a known run is read again", at("hasFinalPlan", "readyTime !== null"), "readyTime === undefined"],
    ],
  ),
  ...faults(
    "src/runs/supervision/row-follower.ts",
    ["src/runs/supervision/supervisor-election.postgres.test.ts"],
    [
      [
        "each process reads the plan of a run with each of its changes",
        at("RowFollower.#read", "store.runs.reload(known)"),
        "store.runs.getMany(known.map(({ id }) => id))",
      ],
    ],
  ),
  ...faults(
    "src/runs/runs.ts",
    ["src/runs/supervision/supervisor-election.postgres.test.ts"],
    [
      [
        "an extension reads the plan of its run while everybody's changes wait",
        at("keepAlive", "transition(runCache.row(id) ?? id,"),
        "transition(id,",
      ],
    ],
  ),
  ...faults(
    "src/runs/runs.ts",
    ["test/attacks/changes.test.ts"],
    [["one person's extensions and stops stand before everybody's changes", at("changingBy", "{ ...ctx, change }"), "change && ctx"]],
  ),
  ...faults(
    "src/api/handlers/runs/runs.ts",
    ["test/attacks/changes.test.ts"],
    [["a stop of an ended run makes a change", at("stop", "if (!isLive(stopped.state)) return { ok: true }"), ""]],
  ),
  ...faults(
    "src/api/operation.ts",
    ["test/attacks/reads.test.ts"],
    [
      [
        "one person's writes are answered before everybody's requests",
        at("answerInTurn", "reads.runWrite(caller.userId, answer, lane)"),
        "answer()",
      ],
    ],
  ),
  ...faults(
    "src/projects/plan/run-plan.ts",
    ["src/projects/plan/run-plan.test.ts"],
    [
      ["a plan reads the documentation of all datasets that it mounts", at("draftFromProject", "data.parts(links"), "data.getMany(links"],
      ["a plan reads the documentation of its image", at("draftFromProject", "images.part("), "images.get("],
    ],
  ),
  ...faults(
    "src/projects/plan/replan.ts",
    ["src/projects/plan/run-plan.test.ts"],
    [["each new plan of a run reads the documentation of its project", at("replanRun", "projects.part("), "projects.get("]],
  ),
  ...faults(
    "src/api/handlers/runs/runs.ts",
    ["test/api/runs.test.ts"],
    [["each request about a run reads the documentation of its project", at("resourceOf", "projects.part("), "projects.get("]],
  ),
  ...faults(
    "src/runs/limits/limit-enforcer.ts",
    ["src/runs/limits/limit-enforcer.test.ts"],
    [
      [
        "the maximum run time does not end a run",
        at("LimitEnforcer.#enforceMaxTime", 'isDue ? this.#stop(run, "max_time")'),
        "false ? true",
      ],
      [
        "the run that wrote least is ended",
        at("LimitEnforcer.#largestWriters", ".sort((a, b) => b.bytes - a.bytes)"),
        ".sort((a, b) => a.bytes - b.bytes)",
      ],
      [
        "the disk of a group is not counted together",
        at("LimitEnforcer.#largestWriters", "run: RunRow) => quota.members.has(run.userName)"),
        ") => false",
      ],
      [
        "a run that fills its own limit is not warned",
        at("LimitEnforcer.enforce", "for (const run of remaining) this.#warnOfEngineLimit(run)"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/runs/programs/program-search.ts",
    ["src/runs/project-types.test.ts"],
    [["the shell of a base image runs instead of a type's program", at("imageStartOf", "return isMeant ?"), "return image ?"]],
  ),
  ...faults(
    "src/runs/programs/start-hints.ts",
    ["src/runs/programs/start-hints.test.ts"],
    [
      ["a command of the project's own counts as searched", at("explainSearch", " || plan.command !== null"), ""],
      ["a mounted directory is blamed on the image", at("missingRight", "if (mount) {"), "if (false) {"],
      ["the system's packages shall be made writable", at("missingRight", "systemPackages.test(path) ? buildHint : "), ""],
    ],
  ),
  ...faults(
    "src/runs/limits/idle-rule.ts",
    ["src/runs/limits/idle-rule.test.ts"],
    [
      ["a run without figures counts as idle", at("IdleRule.#idleMs", " || !this.#usage.isUseKnown(run)"), ""],
      ["a program without an answer does not compute", at("IdleRule.#idleMs", "if (idleMs === undefined) return undefined"), ""],
      ["a busy kernel does not count", at("IdleRule.#idleMs", "this.#activity.mark(run.id, idleMs)"), "void idleMs"],
      ["the project's limit does not count", at("IdleRule.limitOf", "run.spec.idleMinutes, "), ""],
    ],
  ),
  ...faults(
    "src/runs/limits/end-warnings.ts",
    ["src/runs/limits/idle-rule.test.ts"],
    [
      ["a run ends sooner than it was warned of", at("EndWarnings.warnUntilDue", "leftMs <= 0 && now >= sent.endTime"), "leftMs <= 0"],
      ["a warning of an earlier idleness counts again", at("EndWarnings.warnUntilDue", "sent?.cause === cause"), "sent !== undefined"],
      ["a use after the warning does not count", at("EndWarnings.endOf", "sent?.cause === cause"), "sent"],
      ["an old warning announces a later end", at("EndWarnings.warnUntilDue", "now < sent.endTime + leadMs"), "true"],
    ],
  ),
  ...faults(
    "src/runs/limits/activity-tracker.ts",
    ["src/runs/limits/idle-rule.test.ts"],
    [["a jump of the system's time makes runs idle", at("ActivityTracker.mark", "clock.monotonic() - agoMs"), "clock.now() - agoMs"]],
  ),
  ...faults(
    "src/runs/limits/activity-probe.ts",
    ["src/runs/limits/idle-rule.test.ts"],
    [["an answer of a broken program counts", at("bodyOf", "if (head?.status !== 200)"), "if (false)"]],
  ),
  ...faults(
    "src/runs/logs/logs.ts",
    ["src/runs/logs/logs.test.ts"],
    [
      [
        "what programs print while they are stopped is read at once",
        at("FinalLogs.#collect", "await waitForTurn(this.#userId, text, this)"),
        "waitForTurn",
      ],
      [
        "the output of all runs that end at once is in memory",
        at("FinalLogs.#trim", "maxCharactersOfPerson / (collectors.get(this.#userId)?.size ?? 1)"),
        "maxCharacters",
      ],
    ],
  ),
  ...faults(
    "src/runs/limits/activity-probe.ts",
    ["src/runs/limits/activity-probe.test.ts"],
    [
      [
        "the kernels of all of a person's programs are parsed in one turn",
        at("probeIdleMs", "await turns.run(run.userId, () => idleMsOfKernels(JSON.parse(text), ctx.clock.now()))"),
        "turns && idleMsOfKernels(JSON.parse(text), ctx.clock.now())",
      ],
    ],
  ),
  ...faults(
    "src/runs/admission/fair-order.ts",
    ["src/runs/admission/fair-order.test.ts"],
    [
      ["own queued runs do not count as held", at("fairOrder", "shares.countAsHeld(run)"), ""],
      ["being served does not begin the wait anew", at("fairOrder", "Math.max(run.createdAt, since)"), "run.createdAt"],
      ["what groups hold does not count", at("Shares.of", "Math.max(0, ...ofGroups)"), "0"],
    ],
  ),
  ...faults(
    "src/runs/admission/wait-explanation.ts",
    ["src/runs/admission/wait-explanation.test.ts"],
    [
      ["a group's limit is named to others", at("WaitExplainer.explain", "each.members.has(run.userName) &&"), ""],
      ["devices that are too small count as free", at("roomAt", ".filter((id) => devices.has(id))"), ""],
    ],
  ),
  ...faults(
    "src/runs/admission/quotas.ts",
    ["src/runs/admission/queue.test.ts"],
    [
      ["the queue of one person has no bound", at("queueLimitRefusal", "limit: limits.MaxQueued,"), "limit: null,"],
      ["the queue of a group has no bound", at("queueLimitRefusal", "limit: MaxQueued,"), "limit: null,"],
    ],
  ),
  ...faults(
    "src/runs/supervision/supervision.ts",
    ["src/runs/limits/heavy-user.integration.test.ts"],
    [["the history is never pruned", at("Supervision.resume", "pruneHistory(ctx),"), ""]],
  ),
  ...faults(
    "src/api/handlers/accounts/sessions.ts",
    ["test/api/limits.test.ts"],
    [["signing in and ending sessions have no rate", at("servicesOf", 'server.rateLimiter.consume(lane, "writes")'), ""]],
  ),
  ...faults(
    "src/api/operation.ts",
    ["test/api/limits.test.ts"],
    [["rates are not counted", at("runOperation", "caller && !caller.isAdmin) consumeRate"), "false) consumeRate"]],
  ),
  ...faults(
    "src/api/operation.ts",
    ["test/attacks/engine-calls.test.ts"],
    [["a person follows any number of outputs", at("sendLines", "!caller || caller.isAdmin"), "caller"]],
  ),
  ...faults(
    "src/api/handlers/runs/runs.ts",
    ["test/attacks/engine-calls.test.ts"],
    [["followed outputs have no rate", at("logs", "follow && !context.caller.isAdmin"), "false"]],
  ),
  ...faults(
    "src/http/responses/person-limiter.ts",
    ["src/http/responses/person-limiter.test.ts"],
    [
      [
        "one person's checks of images occupy the engine",
        at("PersonLimiter.run", "return await active.semaphore.run(work)"),
        "return await work()",
      ],
    ],
  ),
  ...faults("src/projects/object-limits.ts", ["test/api/limits.test.ts"], [["objects are not counted", at("ObjectLimits.checkRoom"), ""]]),
  ...faults(
    "src/runs/lifecycle/stop.ts",
    ["test/api/full-disk.test.ts"],
    [["a full disk keeps people from stopping runs", at("writeStop.write", ", { urgent: true }"), ""]],
  ),
  ...faults(
    "src/runs/lifecycle/stop.ts",
    ["src/runs/lifecycle/engine-down.test.ts"],
    [["each request to stop a stopping run is recorded", at("writeStop.work", ' || now.state === "stopping"'), ""]],
  ),
  ...faults(
    "src/runs/lifecycle/transitions.ts",
    ["test/api/full-disk.test.ts"],
    [["a full disk keeps runs from being over", at("transition", "{ urgent: isEnd(step) }"), "{ urgent: false }"]],
  ),
  ...faults(
    "src/runs/lifecycle/launch-states.ts",
    ["src/runs/lifecycle/launch-states.test.ts"],
    [["a start writes what is stored", at("LaunchStateWriter.write", "Object.keys(details).length > 0"), "true"]],
  ),
  ...faults(
    "src/runs/lifecycle/transitions.ts",
    ["src/runs/lifecycle/launch-states.test.ts"],
    [
      [
        "a start ends when another process has changed its row",
        at("transitionInTransaction", "current && (await"),
        "!known && current && (await",
      ],
      ["a state that a start passes has no event", at("advance", "passed.map("), "passed.slice(-1).map("],
    ],
  ),
  ...faults(
    "src/runs/lifecycle/ending.ts",
    ["src/runs/lifecycle/store-down.test.ts"],
    [
      ["a stop on a full disk counts as a loss", at("writeEnd", "reason: request?.reason ?? reason"), "reason"],
      [
        "a run whose stop the database rejects continues",
        at("stopDespiteFullDisk", "if (!isStorageFull(error)) throw error"),
        "throw error",
      ],
      [
        "a later cause of an end takes the place of the first",
        at("stopBeforeWriting", "if (isFirst) ctx.pendingStops.set("),
        "ctx.pendingStops.set(",
      ],
      ["the output of a run whose stop the database rejected is lost", at("stopBeforeWriting", "removeContainer"), "stopEngine"],
      ["a failed stop is executed later, unrequested", at("stopBeforeWriting", "if (isFirst) ctx.pendingStops.delete(run.id)"), ""],
    ],
  ),
  ...faults(
    "src/api/handlers/runs/runs.ts",
    ["test/api/hung-engine.docker.test.ts"],
    [["a client that waits for a stop gets no answer when the service ends", at("stop", "    signal: context.signal,\n  "), "  "]],
  ),
  ...faults(
    "src/engine/docker/client/docker-client.ts",
    ["src/engine/docker/client/docker-client.test.ts"],
    [
      [
        "calls without a signal wait forever",
        at("DockerClient.#run", "abortable(work(docker, combined ? { abortSignal: combined } : {}), combined"),
        "work(docker, combined ? { abortSignal: combined } : {}",
      ],
    ],
  ),
  ...faults(
    "src/runs/limits/effective-limits.ts",
    ["src/runs/limits/limit-enforcer.test.ts"],
    [["a group's limit of disk bounds no run", at("maxDiskMiBPerRun", "), ...quotas.map((quota) => quota.limits"), ""]],
  ),
  ...faults(
    "src/runs/limits/usage-monitor.ts",
    ["src/runs/limits/limit-enforcer.test.ts"],
    [
      ["work does not count as use", at("UsageMonitor.#add", "this.#activity.mark(run.id)"), "void run.id"],
      ["a filling disk does not cause a measurement", at("UsageMonitor.#updateLayers", "if (!isFilling && clock.now()"), "if (clock.now()"],
      ["freed space hides used space", at("UsageMonitor.#updateLayers", "Math.max(this.#maxFreeBytes, free ?? 0)"), "this.#maxFreeBytes"],
      ["a full disk is measured with every sample", at("UsageMonitor.#updateLayers", "this.#maxFreeBytes = free ?? 0"), ""],
    ],
  ),
  ...faults(
    "src/runs/usage/usage-record.ts",
    ["src/runs/usage/usage-file.test.ts"],
    [
      [
        "a torn record counts",
        at("decodeRecord", "bytes.getUint32(0) !== crc32(from.subarray(offset + 4, offset + recordBytes))"),
        "false",
      ],
    ],
  ),
  ...faults(
    "src/runs/usage/usage-file.ts",
    ["src/runs/usage/usage-file.test.ts"],
    [
      ["a file grows for ever", at("positionOf", "(slot % ring.slots)"), "slot"],
      ["a minute is only its last sample", at("writeSample", "...known.filter((each) => each.slot !== record.slot), record"), "record"],
      ["a minute is shown beside its samples", at("readRecords", "minutes.filter(({ slot }) => !known.has(slot))"), "minutes"],
    ],
  ),
  ...faults(
    "src/runs/limits/usage-monitor.ts",
    ["src/runs/usage/usage-store.test.ts"],
    [
      [
        "everybody's limits wait for the files of what runs use",
        at("UsageMonitor.#takeSamples", "void this.#ctx.usageStore.record(samples)"),
        "await this.#ctx.usageStore.record(samples)",
      ],
    ],
  ),
  ...faults(
    "src/runs/usage/usage-store.ts",
    ["src/runs/usage/usage-store.test.ts"],
    [
      ["a restart leaves no mark", at("UsageStore.#handleFirst", "(await file.stat()).size === 0"), "true"],
      [
        "what runs use is written in the event loop",
        at("UsageStore.#open", "return await open(path, flags, 0o600)\n    } catch"),
        'const fs = await import("node:fs")\n      if (fs.existsSync(path)) fs.closeSync(fs.openSync(path, "r+"))\n      return await open(path, flags, 0o600)\n    } catch',
      ],
      ["the usage of live runs is removed", at("UsageStore.#prunePerson", ".filter(({ key }) => !isLive(key))"), ""],
    ],
  ),
  ...faults(
    "src/runs/limits/history-pruner.ts",
    ["src/runs/usage/usage-store.test.ts"],
    [["usage outlives its run's row", at("deleteEndedRuns", "await ctx.usageStore.remove(runs)"), ""]],
  ),
  ...faults(
    "src/runs/limits/usage-monitor.ts",
    ["test/api/runs.test.ts"],
    [["samples are kept after the run's end", at("UsageMonitor.samplesOf"), "return this.#series.get(id) ?? []"]],
  ),
  ...faults(
    "src/runs/admission/quotas.ts",
    ["src/runs/admission/scheduler.test.ts"],
    [
      ["a younger run of the group takes what an older one waits for", at("GroupUsage.reserve", "for"), "if (fits) for"],
      [
        "a group's limit does not count one's own share",
        at("limitRefusal", "for (const bound of bounds) {"),
        "for (const bound of bounds.slice(0, 1)) {",
      ],
    ],
  ),
  ...faults(
    "src/runs/lifecycle/run-controller.ts",
    ["src/runs/lifecycle/store-down.test.ts"],
    [
      [
        "a lost run keeps its address until its end is stored",
        at("RunController.handleObservation", "this.#ctx.runCache.setAddress(this.id, undefined)"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/runs/lifecycle/supervisor.ts",
    ["src/runs/lifecycle/supervisor.test.ts"],
    [
      [
        "all runs are read with each change that the engine reports",
        at("Supervisor.#loop", "gapAfterMs(clock.monotonic() - beganAt)"),
        "0 * gapAfterMs(beganAt)",
      ],
    ],
  ),
  ...faults(
    "src/runs/lifecycle/supervisor.ts",
    ["src/runs/lifecycle/gpu-ledger.test.ts"],
    [
      [
        "a device is free as soon as its run has ended in the database",
        at("Supervisor.containerDevices", "...this.#containerDevices.values()].flat()"),
        "]",
      ],
      [
        "a restarted server gives devices before it knows which are in use",
        at("Supervisor.containerDevices", "if (!this.#containerDevices) return new Set("),
        "if (!this.#containerDevices) return new Set() || new Set(",
      ],
    ],
  ),
  ...faults(
    "src/runs/admission/scheduler.ts",
    ["src/runs/admission/scheduler.test.ts"],
    [["a queued run that waits for its person's own keeps capacity from all", at("schedule", "!ownRuns.prevent(run)"), "true"]],
  ),
  ...faults(
    "src/runs/admission/scheduler.ts",
    ["src/runs/limits/gpu-watch.test.ts"],
    [["a device with a fault is given to a run", at("allocatableNodes", "fault === undefined"), "true"]],
  ),
  ...faults(
    "src/runs/lifecycle/adoption.ts",
    ["src/runs/lifecycle/orphans.test.ts"],
    [
      ["another run's device is adopted", at("insertAdopted", "spec.gpus.includes(device)"), "false"],
      ["no run is adopted", at("adoptContainer", 'seen.state === "running" ? await'), 'seen.state === "created" ? await'],
    ],
  ),
  ...faults(
    "src/projects/plan/authorize-plan.ts",
    ["test/api/runs.test.ts"],
    [
      [
        "a repeat has an image that its person may no longer use",
        at("refuseImage", '|| can(starter, "image:use", forStarter) !== "yes"'),
        "",
      ],
      ["a repeat has a dataset that its person may no longer use", at("authorizeMount", 'if (mode !== "no") return'), "if (true) return"],
    ],
  ),
  ...faults(
    "src/projects/plan/authorize-plan.ts",
    ["test/api/borrowed-rights.test.ts"],
    [
      ["a stranger's project borrows what its starter may do", at("ownerToCheck", "=== starter.userId"), "!== 0"],
      [
        "a stranger's project is written into by its starter's right",
        at("authorizeMount", "lowerOf(mountRights.starter, mountRights.owner)"),
        "mountRights.starter",
      ],
      [
        "a stranger's project runs its starter's private image",
        at("refuseImage", 'owner && (!forOwner || can(owner, "image:use", forOwner) !== "yes")'),
        "!forStarter",
      ],
    ],
  ),
  ...faults(
    "src/access/accounts/impersonate.ts",
    ["test/api/borrowed-rights.test.ts"],
    [["an administrator's rights are borrowed", at("ownerAsCaller", "isAdmin: false,"), 'isAdmin: owner.userName === "admin",']],
  ),
  ...faults(
    "src/runs/lifecycle/launch-attempt.ts",
    ["test/api/stale-rights.test.ts"],
    [
      [
        "a start that fetches an image mounts with outdated rights",
        at("LaunchAttempt.#startProgram", "this.#controller.signal, resolveSpec)"),
        "this.#controller.signal)",
      ],
      ["an adopted start is not authorized again", at("LaunchAttempt.#startProgram", "await this.#replan()"), ""],
    ],
  ),
  ...faults(
    "src/runs/lifecycle/run-controller.ts",
    ["src/runs/lifecycle/reasons.test.ts"],
    [
      [
        "a canceled creation leaves its container",
        at("RunController.#handleFailure", "(!isUnreachable && !launch.isAborted)"),
        "!isUnreachable",
      ],
      [
        "a deadline hides the exit that caused it",
        at("RunController.#handleFailure", "launch.isStarted && !this.#exit && (await this.#stopIfOver(run).catch(() => false))"),
        "false",
      ],
    ],
  ),
  ...faults(
    "src/runs/lifecycle/reasons.ts",
    ["src/runs/lifecycle/reasons.test.ts"],
    [["a reason has as many bytes of output as a program prints", at("lastBytes", "bytes.length <= tailBytes"), "true"]],
  ),
  ...faults(
    "src/runs/readiness/startup-watch.ts",
    ["src/runs/readiness/startup-watch.test.ts"],
    [["a program that answers badly is not told by the progress", at("findFault", "if (answer) return"), "if (!answer) return"]],
  ),
  ...faults(
    "src/engine/containers/mount-sources.ts",
    ["src/engine/docker/mounts/mount-pins.integration.test.ts"],
    [["a run starts without a home that it can open", at("isReadable", "(mode & 0o077) !== 0"), "true"]],
  ),
  ...faults(
    "src/runs/admission/queue-replanning.ts",
    ["test/api/stale-rights.test.ts"],
    [["a withdrawal ends no queued run", at("replanOnce", "await replanQueuedRun(ctx, run).catch("), "await Promise.resolve(run).catch("]],
  ),
  ...faults(
    "src/engine/docker/observe/container-stats.ts",
    ["src/engine/docker/observe/container-stats.test.ts"],
    [["another process counts as the container's", at("controlGroupsOf", "!text?.includes(id)"), "text === undefined"]],
  ),
]
