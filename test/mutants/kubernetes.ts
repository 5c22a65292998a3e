import { at, faults } from "./mutant.ts"

const reflector = ["src/engine/kubernetes/client/reflector.test.ts"]
const connections = ["src/engine/kubernetes/client/shared-connections.test.ts"]
const feed = ["src/engine/kubernetes/pods/pod-events.test.ts"]
const pods = ["src/engine/kubernetes/pods/pod-state.test.ts"]

/** The copy of a cluster's objects, what it tells of runs, and what runs can do there. */
export const kubernetes = [
  ...faults("src/engine/kubernetes/client/reflector.ts", reflector, [
    ["an ended watch of a forgotten point goes on", at("Reflector.#receive", "this.#version = undefined\n"), "\n"],
    ["a restored database is not noticed", at("Reflector.#run", "if (!isConnected) this.#version = undefined"), ""],
    ["after each loss everything is listed again", at("Reflector.#run", "if (!isConnected) "), ""],
    ["who may not see the objects waits for them", at("Reflector.#run", "isAccessDenied(error)"), "false"],
    ["a server that has just started is not waited for", at("Reflector.#run", "!this.#wasSynced && "), ""],
    ["a refusal hides the fault that follows it", at("Reflector.#setRefused", "this.#synced = Promise.withResolvers()"), "return"],
    ["a list keeps what was deleted meanwhile", at("Reflector.#list", "this.#items.clear()"), ""],
    ["a deletion is not seen", at("Reflector.#receive", 'this.#items.remove(item.metadata?.name ?? "")'), "[]"],
  ]),
  ...faults("src/engine/kubernetes/client/shared-connections.ts", connections, [
    ["each call opens a connection", at("shareConnections", "if (now !== shared?.key) "), ""],
    ["calls go on with the certificates of before", at("shareConnections", "now !== shared?.key"), "!shared"],
  ]),
  ...faults("src/engine/kubernetes/client/grouped-items.ts", reflector, [
    ["an object stays in the group that it left", at("GroupedItems.remove", "members?.delete(name)"), ""],
    [
      "the group that an object left hears nothing",
      at("GroupedItems.set", "const changed = this.remove(name)"),
      "this.remove(name)\n    const changed: string[] = []",
    ],
  ]),
  ...faults("src/engine/kubernetes/pods/pod-events.ts", feed, [
    ["each start has a watch of its own", at("PodEventFeed.follow", "this.#reflector ??= this.#open()"), "this.#reflector = this.#open()"],
    ["the watch of events never ends", at("PodEventFeed.#leave", "() => this.#close(),"), "() => {},"],
    ["the watch ends although another start came", at("PodEventFeed.follow", "this.#linger.abort()"), ""],
    [
      "a start waits for events that nobody gives",
      at("PodEventFeed.#untilWatched", "await Promise.race([reflector.items(settled.signal), late])"),
      "await reflector.items(settled.signal)",
    ],
  ]),
  ...faults("src/engine/kubernetes/pods/pod-state.ts", pods, [
    ["a run of a lost node runs for ever", at("stateOf", "isGivenUp || "), ""],
    ["an evicted run is gone without a reason", at("isGone", " && !wasDisrupted(pod)"), ""],
    ["an old observation is kept", at("ObservedRunCache.get", "kept.pods.every((pod, n) => pod === pods[n])"), "true"],
  ]),
  ...faults(
    "src/engine/kubernetes/network/network-policies.ts",
    ["src/engine/kubernetes/network/network-policies.test.ts"],
    [
      ["a setting opens a cluster's metadata services", at("internetRules", "...alwaysClosed"), ""],
      ["an allowed network is open where it is denied", at("openBlock", "closed.some((each) => lies(cidr, each))"), "false"],
      ["a setting that opens nothing opens everything", at("internetRules", "blocks.length > 0"), "true"],
    ],
  ),
  ...faults(
    "src/engine/kubernetes/pods/pod-manifest.ts",
    ["src/engine/kubernetes/pods/pod-manifest.test.ts"],
    [
      ["a cluster replaces variables in commands", at("literal", 'word.replaceAll("$", () => "$$")'), "word"],
      ["an image runs on a node with other processors", at("nodeSelection", "architecture !== undefined && "), "false && "],
    ],
  ),
  ...faults(
    "src/engine/kubernetes/pods/image-volumes.ts",
    ["src/engine/kubernetes/pods/image-volumes.test.ts"],
    [
      ["the volumes of an image on a cluster have no limit", at("imageVolumes", "undefined) return others"), "undefined) return []"],
      ["an image's volume hides a mount of its run", at("imageVolumes", "!mounted.has(path)"), "path !== undefined"],
    ],
  ),
  ...faults(
    "src/engine/kubernetes/mounts/mount-locks.ts",
    ["src/engine/kubernetes/mounts/mount-locks.integration.test.ts"],
    [
      ["a start gives back a directory that another one locked", at("MountLocks.#unlockAll", " && !this.#held.leadsToSome(key)"), ""],
      [
        "a directory is given back while a pod that came meanwhile waits for it",
        at("MountLocks.#unlockAll", "if (asOf !== this.#ended) [kept, asOf] = [new PathSet(needed().map(keyOf)), this.#ended]"),
        "",
      ],
      [
        "programs lose a directory in the moment in which it is locked",
        at("MountLocks.#takeOwnership", "await handle.chmod(locked)\n      await handle.chown"),
        "await handle.chown",
      ],
      [
        "one start locks its paths before everybody's",
        at("MountLocks.lock", "this.#lockAll(wanted)"),
        'this.#alone("", () => this.#lockAll(wanted))',
      ],
      ["all starts of one person lock their paths at once", at("MountLocks.lock", "using _turn = await mountTurns.acquire(user)"), ""],
      [
        "locks of paths have turns of their own beside those of look-ups",
        at("MountLocks.lock", "mountTurns.acquire(user)"),
        'mountTurns.acquire("")',
      ],
      [
        "each directory that leads to a mount takes memory until its start ends",
        at("MountLocks.lock", "this.#held.add(key)"),
        'for (const [n] of key.split("\\0").entries()) this.#held.add(key.split("\\0").slice(0, n).join("\\0"))',
      ],
    ],
  ),
  ...faults(
    "src/engine/kubernetes/observe/node-stats.ts",
    ["src/engine/kubernetes/observe/node-stats.integration.test.ts"],
    [["each question to a kubelet opens a connection", "new Agent({ keepAlive: true })", "new Agent()"]],
  ),
  ...faults(
    "src/engine/kubernetes/images/cluster-images.ts",
    ["src/engine/kubernetes/images/cluster-images.test.ts"],
    [
      ["a pulled image counts as loaded by hand", at("loadedImages", 'digest === ""'), "true"],
      ["a node chooses another image of an index", at("ClusterImages.find", "digest: info.digest"), "digest: info.registryDigest"],
      ["an image is chosen for processors of nodes that take no runs", at("architecturesOf", "isSelected(node) && "), ""],
    ],
  ),
  ...faults(
    "src/engine/kubernetes/pods/run-starter.ts",
    ["src/engine/kubernetes/pods/run-starter.test.ts"],
    [
      ["all pods of a run exist while it waits for room", at("RunStarter.#create", "await this.#untilAllFit(request, image, signal)"), ""],
      [
        "a run waits for ever for more room than its cluster has",
        at("RunStarter.#untilAllFit", " ?? neverRoomForAllError(spec, request, nodes)"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/engine/kubernetes/client/cluster-client.ts",
    ["src/engine/kubernetes/client/call-turns.test.ts"],
    [
      [
        "the pods of one person's runs are all made at once",
        at("ClusterClient.#call", "turn && (await this.#queues[turn.kind].acquire(turn.owner, signal))"),
        "undefined",
      ],
    ],
  ),
  ...faults(
    "src/contract/resources/running-project.ts",
    ["test/api/runs.test.ts"],
    [["a run has any number of pods", '"Node count.", bounds.runs.nodes.value', '"Node count."']],
  ),
  ...faults(
    "src/engine/kubernetes/pods/fitting-pods.ts",
    ["src/engine/kubernetes/pods/fitting-pods.test.ts"],
    [
      ["each start that waits for room lists all pods of a cluster", at("sharedAmounts", "now - known.at < sharedMs"), "false"],
      ["all pods of a cluster are read at once", "const pageSize = 500", "const pageSize = 1_000_000"],
    ],
  ),
  ...faults(
    "src/engine/kubernetes/exec/output-queue.ts",
    ["src/engine/kubernetes/exec/output-queue.test.ts"],
    [["each piece of a program's output on a cluster takes memory that is not counted", "overheadBytes = 256", "overheadBytes = 0"]],
  ),
  ...faults(
    "src/engine/kubernetes/exec/read-first-line.ts",
    ["src/engine/kubernetes/exec/hostile-output.test.ts"],
    [["the errors of a shell use any amount of memory", at("readFirstLine", "text.length + earlyBytes"), "text.length"]],
  ),
  ...faults(
    "src/engine/kubernetes/exec/read-output.ts",
    ["src/engine/kubernetes/exec/hostile-output.test.ts"],
    [["a program prints any amount for a question about it", at("readOutput", "bytes > maxBytes"), "bytes > Infinity"]],
  ),
  ...faults(
    "src/engine/kubernetes/observe/read-logs.ts",
    ["src/engine/kubernetes/observe/read-logs.test.ts"],
    [["a line of output that never ends is held whole", at("podLogLines", "rest.length < maxLineLength + maxTimeLength"), "true"]],
  ),
  ...faults(
    "src/engine/kubernetes/observe/merge-rank-logs.ts",
    ["src/engine/kubernetes/observe/read-logs.test.ts"],
    [
      [
        "each followed line waits for those of silent ranks",
        at("asTheyArrive", "read(found.one)"),
        "read(found.one); await Promise.race([0, (globalThis.never ??= new Promise(() => {}))])",
      ],
    ],
  ),
]
