// biome-ignore-all lint/suspicious/noTemplateCurlyInString: code of other files is plain text here

import { at, faults } from "./mutant.ts"

const kinds = ["src/engine/docker/firewall/iptables-variants.docker.test.ts"]
const disk = ["src/engine/docker/containers/disk-limit.docker.test.ts"]
const inside = ["src/engine/docker/containers/confinement.docker.test.ts"]
const calls = ["test/attacks/calls.docker.test.ts"]
const network = ["test/attacks/network.docker.test.ts"]
const rights = ["test/attacks/rights.docker.test.ts"]
const neighbours = ["test/attacks/neighbours.docker.test.ts"]
const limits = ["test/attacks/limits.docker.test.ts"]
const stale = ["test/attacks/stale.docker.test.ts"]
const secrets = ["test/attacks/secrets.docker.test.ts"]

/**
 * Walls between a run and the host, others and the server's secrets: real rules, containers
 * and processes.
 */
export const confinement = [
  ...faults(
    "src/engine/docker/containers/run-starter.ts",
    ["src/engine/docker/mounts/pins-at-once.docker.test.ts"],
    [
      [
        "all starts of one person look up directories at once",
        at("RunStarter.#pin", "using _turn = await mountTurns.acquire(planned.user, signal)"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/main/serve.ts",
    ["test/scripts/thread-pool.test.ts"],
    [["starts that wait for directories occupy all threads of the pool", at("serve", "setThreadPoolSize()"), ""]],
  ),
  ...faults(
    "src/engine/docker/images/pull-progress.ts",
    ["src/engine/docker/images/pull-progress.test.ts"],
    [["an image has any number of layers", at("PullProgress.#countLayer", "<= maxLayers"), ">= 0"]],
  ),
  ...faults(
    "src/engine/docker/host/kernel-limits.ts",
    ["src/engine/docker/host/kernel-limits.test.ts"],
    [["runs use up what the kernel has for all", at("raise", "< value"), "< 0"]],
  ),
  ...faults(
    "src/engine/docker/images/disk-guard.ts",
    ["src/engine/docker/images/disk-guard.test.ts"],
    [
      [
        "a small image unpacks until the disk is full",
        at("DiskGuard.#abortWhenFull", "freeRoom(found) < minFreeBytes(found.totalBytes)"),
        "false",
      ],
      ["an image of empty files takes all inodes", at("freeRoom", "disk.freeInodes * bytesPerInode(disk)"), "disk.freeBytes"],
      ["a pull asks for no room", at("DiskGuard.littleRoom", "lackingBytes > 0"), "lackingBytes > totalBytes"],
    ],
  ),
  ...faults(
    "src/engine/docker/images/image-config.ts",
    ["src/engine/docker/images/image-store.docker.test.ts"],
    [["each volume of an image gets a copy of all of it", at("assertVolumesFit", "volumes * room <= maxBytes"), "volumes > 0"]],
  ),
  ...faults(
    "src/engine/docker/images/image-room.ts",
    ["src/engine/docker/images/image-store.docker.test.ts"],
    [
      [
        "an image has any number of empty files",
        at("ImageRooms.#measure", "(await this.#countEntries(layersOf(image))) * bytesOfEntry"),
        "0",
      ],
    ],
  ),
  ...faults(
    "src/engine/docker/images/image-store.ts",
    ["src/engine/docker/images/image-store.docker.test.ts"],
    [["a repeated run gets another image", at("ImageStore.#ensure", "checkExpectedDigest(spec, found.digest)"), ""]],
  ),
  ...faults(
    "src/images/room-policy.ts",
    ["src/images/image-maintenance.test.ts"],
    [
      ["everybody's images go before those of whoever fetched most", at("nextForRoom", "bytesOf(b) - bytesOf(a) ||"), ""],
      ["images of very many files stay, and everybody's others go", at("bytesByPerson", "image.room ?? image.size"), "image.size"],
      ["an image that somebody just fetched makes room", at("nextForRoom", "facts.now - usedAt(image) >= imageFreshMs.value"), "true"],
    ],
  ),
  ...faults(
    "src/images/image-pruner.ts",
    ["src/images/image-maintenance.test.ts"],
    [
      [
        "images that nobody needs keep everybody else's away",
        at("ImagePruner.makeRoom", "let little = await measure()"),
        "let little = undefined as Awaited<ReturnType<typeof measure>>",
      ],
      ["one person's images in use fill the disk", at("assertHasShare", "|| bytes <= most"), "|| bytes >= 0"],
      [
        "pulls of an image that does not exist remove everybody's images",
        at("ImagePruner.makeRoom", "if (tried.size === 0) await assertOffered()"),
        "",
      ],
      ["a damaged image keeps all pulls from their room", at("ImagePruner.#remove", "catch (err) {"), "catch (err) {\n      throw err"],
    ],
  ),
  ...faults(
    "src/images/prune-policy.ts",
    ["src/images/prune-policy.test.ts"],
    [
      [
        "images of other people are pruned",
        at("needOf", 'if (!record) return "Quayside did not fetch it"'),
        "if (!record) return undefined",
      ],
      ["images of live runs are pruned", at("needOf", "if (isInUse(image, facts))"), "if (false)"],
    ],
  ),
  ...faults(
    "src/engine/image-holds.ts",
    ["src/engine/image-holds.test.ts"],
    [["an image is removed between its choice and its container", at("ImageHolds.find", "if (before === this.#removals)"), "if (true)"]],
  ),
  ...faults(
    "src/engine/docker/docker-engine.ts",
    ["src/engine/create-engine.test.ts"],
    [["a restarted server is kept from its runs by its own rules", at("createDockerEngine", "firewall?.joinGroup()"), ""]],
  ),
  ...faults(
    "src/engine/docker/images/account-file-check.ts",
    ["src/engine/docker/images/account-file-check.test.ts"],
    [["the checks of all images are remembered", at("AccountFileCheck.check", "this.#passed.size > maxImages"), "false"]],
  ),
  ...faults(
    "src/engine/docker/containers/run-starter.ts",
    ["src/engine/docker/images/account-file-check.docker.test.ts"],
    [
      [
        "the daemon reads an image's account files whatever they are",
        at("RunStarter.#checkImage", "await this.#accountFiles.check(container, options)"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/engine/docker/client/call-queue.ts",
    ["src/engine/docker/client/call-queue.test.ts"],
    [["one person's starts occupy all reads of the engine", at("CallQueues.constructor", ", engineCallsOfPerson.value"), ""]],
  ),
  ...faults(
    "src/engine/docker/containers/runtime-created-paths.ts",
    ["src/engine/docker/containers/container-options.test.ts"],
    [
      ["an image leads a path into the kernel's files", at("checkKernelTrees", "tree === undefined"), "true"],
      [
        "the names of a path are followed again for each mount",
        at("checkRuntimeCreatedPaths", "leadsInto(route, "),
        "leadsInto(routeOf(path), ",
      ],
    ],
  ),
  ...faults(
    "src/engine/containers/run-directories.ts",
    ["src/engine/docker/containers/container-options.test.ts"],
    [
      [
        "a relative volume is not made before the runtime makes it as root",
        at("runtimeCreatedDirectories", 'path !== ""'),
        'path.startsWith("/")',
      ],
    ],
  ),
  ...faults(
    "src/engine/docker/containers/container-options.ts",
    ["src/engine/docker/containers/container-options.test.ts"],
    [
      [
        "an image's label sets the limit of its runs' disk",
        at("containerOptions", ", ...diskLimitLabel(isBound ? (spec.diskMiB ?? 0) : null)"),
        ", ...(isBound && diskLimitLabel(5))",
      ],
    ],
  ),
  ...faults(
    "src/runs/readiness/fetch-from-program.ts",
    ["src/runs/project-types.test.ts"],
    [["a program's answer to a probe has any length", at("fetchFromProgram", "maxBytes = answerHeadBytes.value"), "maxBytes = 2 ** 30"]],
  ),
  ...faults(
    "src/engine/docker/observe/directory-sizes.ts",
    ["src/engine/docker/observe/directory-sizes.test.ts"],
    [
      [
        "an image with very many volumes keeps everybody's disk from being counted",
        at("maxAtOnce", "bounds.containers.volumes.value"),
        "100_000",
      ],
      [
        "one person's slow directories keep everybody's from being counted",
        at("runDu", "let ownerTimer = setTimeout(end, ownerTimeoutMs)"),
        "let ownerTimer = setTimeout(() => {}, ownerTimeoutMs)",
      ],
    ],
  ),
  ...faults(
    "src/runs/storage/layer-growth.ts",
    ["src/runs/storage/layer-growth.test.ts"],
    [
      [
        "a run whose files cannot be counted fills the disk, and another run is ended",
        at("LayerGrowth.measureGrowth", "now >= uncountedBytes"),
        "false",
      ],
    ],
  ),
  ...faults(
    "src/engine/docker/observe/container-observer.ts",
    ["src/engine/docker/images/account-file-check.docker.test.ts"],
    [
      [
        "a container that hangs in the daemon hides all others",
        at("ContainerObserver.#details", 'if (State === "created") return notStarted'),
        "",
      ],
    ],
  ),
  ...faults("src/engine/docker/firewall/firewall-rules.ts", kinds, [
    ["a new connection is treated as a reply", at("allowReplies"), '"-m conntrack --ctstate NEW,RELATED,ESTABLISHED -j RETURN"'],
    ["every user of the host reaches runs, but not Quayside's", at("ipv4Rules", "-m owner --uid-owner"), "-m owner ! --uid-owner"],
  ]),
  ...faults("src/engine/docker/firewall/firewall-chains.ts", kinds, [
    ["a jump to the rules that is missing is not noticed", at("FirewallChains.#isHooked", "return at >= 0 &&"), "return at < 0 ||"],
    ["the rules are set again by each observation", at("FirewallChains.#ensure", "if (this.#matches(lines, rules)) return false"), ""],
    ["the rules remain after the last run", at("FirewallChains.remove", "if (chains.length === 0) return"), "return"],
  ]),
  ...faults(
    "src/main/health/health-server.ts",
    ["src/main/health/health-server.test.ts"],
    [["idle connections keep probes out", at("startHealthServer", "connections.watch(server)"), ""]],
  ),
  ...faults("src/main/engine.ts", rights, [
    ["a server that may not confine runs starts", at("confine", "await engine.prepare().catch("), "await Promise.resolve().catch("],
  ]),
  ...faults("src/engine/docker/docker-engine.ts", rights, [
    ["a server that may not mount starts", at("DockerEngine.prepare", "this.#pins.assertCanMount()"), "undefined"],
  ]),
  ...faults("src/gateway/upstream/connection.ts", stale, [
    [
      "the current owner of a run's address is treated as the run",
      at("UpstreamConnection.constructor", "if (address.isCurrent?.() === false)"),
      "if (false)",
    ],
  ]),
  ...faults(
    "src/engine/gpus/nvidia-smi.ts",
    ["src/engine/gpus/nvidia-gpus.integration.test.ts"],
    [
      [
        "a tool gets the server's environment",
        at("NvidiaSmi.#run", "env: { ...childEnvironment, PATH: this.#path }"),
        "env: { ...process.env, ...childEnvironment }",
      ],
    ],
  ),
  ...faults(
    "src/engine/docker/containers/gpu-allocations.ts",
    ["src/engine/docker/gpus.docker.test.ts"],
    [["two installations on one machine give the same device", at("GpuAllocations.assertFree", "|| !isMockGpu(id)"), ""]],
  ),
  ...faults("src/api/http/access-log.ts", secrets, [
    [
      "the query of a request is logged",
      at("AccessLog.note", ": plainPath(requestContext.path)"),
      "+ request.url : plainPath(requestContext.path)",
    ],
  ]),
  ...faults("src/main/secrets.ts", secrets, [
    ["others may read the keys", at("keptKey", "0o600"), "0o644"],
    ["others may enter the data directory", at("prepareDataDir", "chmodSync(dataDir, 0o700)"), "chmodSync(dataDir, 0o711)"],
  ]),
  ...faults("src/engine/docker/containers/container-options.ts", inside, [
    ["runs have capabilities", at("hostConfig", 'CapDrop: ["ALL"],'), ""],
    ["runs may gain privileges", at("hostConfig", 'SecurityOpt: ["no-new-privileges", '), "SecurityOpt: ["],
    ["the root of every run can be written", at("hostConfig", "ReadonlyRootfs: !spec.writableRoot,"), ""],
    ["runs have swap", at("hostConfig", "MemorySwap: memory,"), ""],
    ["runs have as much memory as there is", at("hostConfig", "Memory: memory,\n    MemorySwap: memory,"), ""],
    [
      "a run's output fills the disk",
      at(
        "hostConfig",
        'LogConfig: { Type: "json-file", Config: { "max-size": `${logFileMiB.value}m`, "max-file": String(logFiles.value) } },',
      ),
      "",
    ],
  ]),
  ...faults("src/engine/docker/containers/container-options.ts", inside, [
    [
      "runs that compute have as much of the processors as the services of the host",
      at("hostConfig", "CpuShares: spec.cpus * sharesPerCpu,"),
      "",
    ],
    ["any call of the kernel is open to runs", at("hostConfig", "`seccomp=${seccomp}`"), '"seccomp=unconfined"'],
  ]),
  ...faults(
    "src/engine/docker/host/shell.ts",
    ["src/engine/docker/host/shell.test.ts"],
    [["a warning of a tool stands in the middle of its output", at("Shell.#receive", "code === 0 ? out.text :"), ""]],
  ),
  ...faults("src/engine/docker/containers/container-options.ts", calls, [
    ["runs may make every call that the engine allows", at("hostConfig", ", `seccomp=${seccomp}`]"), "]"],
  ]),
  ...faults(
    "src/engine/docker/firewall/firewall-rules.ts",
    ["test/attacks/registries.docker.test.ts"],
    [["a registry sends the engine's daemon to runs", at("groupMatch"), 'return gid !== 0 ? "" : ` --gid-owner ${gid} --suppl-groups`']],
  ),
  ...faults("src/engine/docker/containers/container-options.ts", limits, [
    ["runs have as many processes as they like", at("hostConfig", "PidsLimit: processes.value,"), ""],
    ["runs can read the host's kernel information", at("hostConfig", "Init: true,"), "Init: true, MaskedPaths: [], ReadonlyPaths: [],"],
  ]),
  ...faults("src/engine/docker/containers/remove-container.ts", limits, [
    ["volumes that an image declares stay", at("removeContainer", "v: true"), "v: false"],
  ]),
  ...faults(
    "src/engine/docker/containers/remove-container.ts",
    ["src/engine/docker/containers/remove-container.test.ts"],
    [
      [
        "the daemon removes the files of volumes, and makes none meanwhile",
        at("removeContainer", "await emptyDirectories(written, { owner, signal })"),
        "void emptyDirectories",
      ],
      [
        "the daemon opens a file for each of a run's directories in each other",
        at("writableLayerOf", "return upper === undefined ? [] : [upper]"),
        "return []",
      ],
    ],
  ),
  ...faults("src/engine/docker/firewall/firewall-rules.ts", neighbours, [
    ["IPv6 is open", at("ipv6Rules", "return"), "return [] ||"],
    [
      "the host's own services answer runs",
      at("ipv4Rules", "`-A ${chains.input} ${from} -j DROP`,"),
      "`-A ${chains.input} ${from} -j RETURN`,",
    ],
  ]),
  ...faults("src/engine/docker/firewall/firewall-rules.ts", network, [
    ["private addresses are reached", at("forwardRules", "...privateNetworks.ipv4.map(("), "...privateNetworks.ipv4.slice(0, 0).map(("],
    ["an address that the administrator closed is open", at("forwardRules", "[linkLocal, pool, ...deny]"), "[linkLocal, pool]"],
    ["an address that the administrator opened is closed", at("forwardRules", "open = [...allow, "), "open = ["],
    ["an internet that is off is open", at("ipv4Rules", "...(policy.internet ? [] : ["), "...(policy ? [] : ["],
    ["runs reach the ports that the host forwards", at("ipv4Rules", "--ctstate DNAT -j DROP"), "--ctstate DNAT -j RETURN"],
  ]),
  ...faults(
    "src/engine/docker/firewall/firewall-rules.ts",
    ["test/attacks/greedy.docker.test.ts"],
    [["a run takes all of the table of connections", at("maxConnections", "bounds.containers.connections.value"), "1_000_000"]],
  ),
  ...faults(
    "src/engine/docker/firewall/firewall-rules.ts",
    ["src/engine/docker/firewall/iptables-variants.docker.test.ts"],
    [
      [
        "questions to the host's name server are not counted",
        at("ipv4Rules", "`-A ${chains.input} ${from} ${tooManyConnections} -j DROP`,"),
        "",
      ],
    ],
  ),
  ...faults(
    "src/engine/docker/network/user-networks.ts",
    ["src/engine/docker/network/user-networks.test.ts"],
    [
      ["a network is removed below a start", at("UserNetworks.#remove", "if (network.starts > 0) return"), ""],
      ["a start uses a network in removal", at("UserNetworks.#networksOf", "!each.isRemoving && "), ""],
    ],
  ),
  ...faults(
    "src/engine/docker/network/user-networks.ts",
    ["src/engine/docker/network/user-networks.docker.test.ts"],
    [
      [
        "a network's range is reused at once",
        at("UserNetworks.#remove", "this.#coolingSubnets.set(network.number, this.#clock.now() + subnetCooldownMs)"),
        "",
      ],
      ["everybody is on one network", at("UserNetworks.#networksOf", "each.user === user && each.group"), "each.group"],
      ["identifiers that are unused for long are never reused", at("UserNetworks.#isTaken", "this.#clock.now()"), "0"],
    ],
  ),
  ...faults("src/engine/docker/docker-engine.ts", network, [
    [
      "runs are open when Quayside is stopped",
      at("DockerEngine.[Symbol.asyncDispose]", "if (isLeader && (await this.#networks.removeUnused()))"),
      "await this.#networks.removeUnused()\n   ",
    ],
  ]),
  ...faults(
    "src/engine/docker/containers/program-start.ts",
    ["src/engine/docker/daemon.docker.test.ts"],
    [["a mount of another directory is not noticed", at("waitForProgramStart", "if (missing &&"), "if (missing && pinned.length > 99 &&"]],
  ),
  ...faults(
    "src/kit/directory.ts",
    ["test/attacks/parents.docker.test.ts"],
    [["a directory that became a link is mounted as what it leads to", at("Directory.directory", "| constants.O_NOFOLLOW"), ""]],
  ),
  ...faults("src/engine/docker/containers/container-options.ts", disk, [
    [
      "no run's own file system is bound",
      at("hostConfig", "...(diskBytes !== undefined && { StorageOpt: { size: String(diskBytes) } }),"),
      "",
    ],
  ]),
  ...faults("src/engine/docker/containers/disk-limit.ts", disk, [
    ["the image's own size counts as written", at("DiskLimit.bytesFor", "Math.ceil(image * 1.25)"), "0"],
    ["a bound counts blocks only, and refuses what the limit allows", at("withOverhead"), "return diskMiB * mib"],
    [
      "a limit that the daemon rejects is requested each time",
      at("DiskLimit.handleRefusal", "this.#accounting = Promise.resolve(undefined)"),
      "",
    ],
  ]),
  ...faults("src/engine/docker/containers/run-starter.ts", disk, [
    [
      "no run with a limit starts on a daemon that cannot limit",
      at("RunStarter.#tryStart", "isDiskLimitRefused(error) && request.diskBytes !== undefined"),
      "Math.random() > 1",
    ],
  ]),
  ...faults("src/engine/docker/observe/container-observer.ts", disk, [
    ["data in an image's volumes does not count", at("ContainerObserver.#placesOf", "[upper, ...volumes]"), "[upper]"],
  ]),
  ...faults(
    "src/engine/docker/observe/container-observer.ts",
    ["src/engine/docker/observe/writable-layers.docker.test.ts"],
    [
      ["empty files that a run writes count nothing", at("ContainerObserver.writableLayers", "* entryBytes.value"), "* 0"],
      ["the holes of sparse files count", at("ContainerObserver.#placesOf", "upper === undefined && "), ""],
    ],
  ),
  ...faults(
    "src/engine/docker/observe/upper-directory.ts",
    ["src/engine/docker/observe/writable-layers.docker.test.ts"],
    [["what runs write counts nothing for a server without root", at("upperDirectory", "(await stat(upper)).isDirectory()"), "true"]],
  ),
  ...faults("src/engine/docker/containers/container-options.ts", network, [
    [
      "the daemon assigns a run the address of one that just ended",
      at("containerOptions", "IPAMConfig: { IPv4Address: options.address }"),
      "",
    ],
  ]),
  ...faults("src/engine/docker/firewall/firewall-rules.ts", network, [
    ["a setting opens metadata services", at("forwardRules", "[linkLocal, pool, ...deny]"), "[pool, ...deny]"],
    ["a group's setting does not count", at("ipv4Rules", "groups = policy.groups.map"), "groups = policy.groups.slice(0, 0).map"],
  ]),
]
