import { faults } from "./mutant.ts"

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
 * What keeps a run from the host, from others and from the server's secrets: real rules, containers
 * and processes.
 */
export const confinement = [
  ...faults(
    "src/engine/docker/docker-engine.ts",
    ["src/engine/create-engine.test.ts"],
    [["a restarted server is kept from its runs by its own rules", "  firewall?.joinGroup()\n", ""]],
  ),
  ...faults(
    "src/engine/docker/containers/run-starter.ts",
    ["src/engine/docker/images/account-file-check.docker.test.ts"],
    [["the daemon reads of an image whatever stands there", "if (!this.#accountFiles.hasPassed(imageId)) await", "if (!imageId) await"]],
  ),
  ...faults(
    "src/runs/limits/activity-probe.ts",
    ["src/runs/project-types.test.ts"],
    [["a program that changes the protocol stops the watch over all limits", '.on("close", () => reject(', '.on("never", () => reject(']],
  ),
  ...faults(
    "src/runs/readiness/probe.ts",
    ["src/runs/project-types.test.ts"],
    [
      [
        "a program that changes the protocol is awaited for ever",
        'request.on("error", give).on("close", give)',
        'request.on("error", give)',
      ],
    ],
  ),
  ...faults(
    "src/engine/docker/observe/directory-sizes.ts",
    ["src/engine/docker/observe/directory-sizes.test.ts"],
    [
      [
        "an image with very many volumes keeps everybody's disk from being counted",
        "const maxAtOnce = bounds.containers.volumes.value",
        "const maxAtOnce = 100_000",
      ],
    ],
  ),
  ...faults(
    "src/engine/docker/observe/container-observer.ts",
    ["src/engine/docker/images/account-file-check.docker.test.ts"],
    [["one container that hangs in the daemon hides all", 'if (State === "created") return notStarted\n', ""]],
  ),
  ...faults("src/engine/docker/firewall/firewall-rules.ts", kinds, [
    ["a new connection is treated as a reply", "--ctstate RELATED,ESTABLISHED", "--ctstate NEW,RELATED,ESTABLISHED"],
    ["every user of the host reaches runs, but not Quayside's", "-m owner --uid-owner", "-m owner ! --uid-owner"],
  ]),
  ...faults("src/engine/docker/firewall/firewall-chains.ts", kinds, [
    ["a jump to the rules that is missing is not noticed", "return at >= 0 && ", "return at < 0 || "],
    ["the rules are set again at each look", "if (this.#matches(lines, rules)) return false", ""],
    ["the rules stay when nobody runs", "if (chains.length === 0) return", "return"],
  ]),
  ...faults("src/main/engine.ts", rights, [
    ["a server that may not confine runs starts", "await engine.prepare().catch(", "await Promise.resolve().catch("],
  ]),
  ...faults("src/engine/docker/docker-engine.ts", rights, [
    ["a server that may not mount starts", "() => this.#pins.assertCanMount(key))", "async () => {})"],
  ]),
  ...faults("src/gateway/upstream/connection.ts", stale, [
    ["the current owner of a run's address is treated as the run", "if (address.isCurrent?.() === false)", "if (false)"],
  ]),
  ...faults("src/engine/docker/host/nvidia-gpus.ts", secrets, [["a tool gets the server's environment", "env: childEnvironment, ", ""]]),
  ...faults("src/api/http/access-log.ts", secrets, [
    ["the query of a request is logged", " : plainPath(requestContext.path)", " + request.url : plainPath(requestContext.path)"],
  ]),
  ...faults("src/main/secrets.ts", secrets, [
    [
      "others may read the keys",
      'randomBytes(32).toString("base64"), { mode: 0o600 }',
      'randomBytes(32).toString("base64"), { mode: 0o644 }',
    ],
    ["others may enter the data directory", "chmodSync(dataDir, 0o700)", "chmodSync(dataDir, 0o711)"],
  ]),
  ...faults("src/engine/docker/containers/container-options.ts", inside, [
    ["runs have capabilities", 'CapDrop: ["ALL"],', ""],
    ["runs may gain privileges", 'SecurityOpt: ["no-new-privileges", ', "SecurityOpt: ["],
    ["the root of every run can be written", "ReadonlyRootfs: !spec.writableRoot,", ""],
    ["runs have swap", "MemorySwap: memory,", ""],
    ["runs have as much memory as there is", "Memory: memory,\n    MemorySwap: memory,", ""],
    [
      "a run's output fills the disk",
      `LogConfig: { Type: "json-file", Config: { "max-size": \`\${logFileMiB.value}m\`, "max-file": String(logFiles.value) } },`,
      "",
    ],
  ]),
  ...faults("src/engine/docker/containers/container-options.ts", inside, [
    ["any call of the kernel is open to runs", `\`seccomp=\${seccomp}\``, '"seccomp=unconfined"'],
  ]),
  ...faults("src/engine/docker/containers/container-options.ts", calls, [
    ["runs may make every call that the engine allows", `, \`seccomp=\${seccomp}\`]`, "]"],
  ]),
  ...faults(
    "src/engine/docker/firewall/firewall-rules.ts",
    ["test/attacks/registries.docker.test.ts"],
    [["a registry sends the engine's daemon to runs", 'return gid === undefined ? ""', 'return gid !== 0 ? ""']],
  ),
  ...faults("src/engine/docker/containers/container-options.ts", limits, [
    ["runs have as many processes as they like", "PidsLimit: processes.value,", ""],
    ["runs can read the host's kernel information", "Init: true,", "Init: true, MaskedPaths: [], ReadonlyPaths: [],"],
  ]),
  ...faults("src/engine/docker/containers/remove-container.ts", limits, [["volumes that an image declares stay", "v: true", "v: false"]]),
  ...faults("src/engine/docker/firewall/firewall-rules.ts", neighbours, [
    ["IPv6 is open", "KernelNames): string[] {\n  return [", "KernelNames): string[] {\n  return [] || ["],
    ["the host's own services answer runs", `\`-A \${chains.input} \${from} -j DROP\`,`, `\`-A \${chains.input} \${from} -j RETURN\`,`],
  ]),
  ...faults("src/engine/docker/firewall/firewall-rules.ts", network, [
    ["private addresses are reached", "...privateNetworks.map((", "...privateNetworks.slice(0, 0).map(("],
    ["an address that the administrator closed is open", "[linkLocal, pool, ...deny]", "[linkLocal, pool]"],
    ["an address that the administrator opened is closed", "const open = [...allow, ", "const open = ["],
    ["an internet that is off is open", "...(policy.internet ? [] : [", "...(policy ? [] : ["],
    ["runs reach the ports that the host forwards", "--ctstate DNAT -j DROP", "--ctstate DNAT -j RETURN"],
  ]),
  ...faults(
    "src/engine/docker/firewall/firewall-rules.ts",
    ["test/attacks/greedy.docker.test.ts"],
    [
      [
        "a run takes all of the table of connections",
        "const maxConnections = bounds.containers.connections.value",
        "const maxConnections = 1_000_000",
      ],
    ],
  ),
  ...faults(
    "src/engine/docker/network/user-networks.ts",
    ["src/engine/docker/network/user-networks.docker.test.ts"],
    [
      ["a network's range is reused at once", "this.#coolingSubnets.set(network.number, this.#clock.now() + subnetCooldownMs)", ""],
      ["everybody is on one network", "each.user === user && each.group", "each.group"],
      [
        "identifiers that are unused for long are never reused",
        "this.#coolingSubnets.get(number) ?? 0) > this.#clock.now()",
        "this.#coolingSubnets.get(number) ?? 0) > 0",
      ],
    ],
  ),
  ...faults("src/engine/docker/docker-engine.ts", network, [
    [
      "runs are open when Quayside is stopped",
      "if (await this.#networks.removeUnused()) await",
      "await this.#networks.removeUnused()\n    await",
    ],
  ]),
  ...faults(
    "src/engine/docker/containers/program-start.ts",
    ["src/engine/docker/daemon.docker.test.ts"],
    [["a directory that is not the one that was meant is not noticed", "if (missing && ", "if (missing && pinned.length > 99 && "]],
  ),
  ...faults(
    "src/kit/directory.ts",
    ["test/attacks/parents.docker.test.ts"],
    [
      [
        "a directory that became a link is mounted as what it leads to",
        "constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW",
        "constants.O_RDONLY | constants.O_DIRECTORY",
      ],
    ],
  ),
  ...faults("src/engine/docker/containers/container-options.ts", disk, [
    ["no run's own file system is bound", "...(diskBytes !== undefined && { StorageOpt: { size: String(diskBytes) } }),", ""],
  ]),
  ...faults("src/engine/docker/containers/disk-limit.ts", disk, [
    ["what the image takes counts as written", "Math.ceil(image * 1.25)", "0"],
    ["a bound counts blocks only, and refuses what the limit allows", "Math.ceil(diskMiB * mib * 1.125) + 32 * mib", "diskMiB * mib"],
    ["a bound that the daemon refuses is asked for each time", "this.#accounting = Promise.resolve(undefined)", ""],
  ]),
  ...faults("src/engine/docker/containers/run-starter.ts", disk, [
    [
      "where the daemon cannot bound, no run with a limit starts",
      "else if (isDiskLimitRefused(error) && request.diskBytes !== undefined)",
      "else if (Math.random() > 1)",
    ],
  ]),
  ...faults("src/engine/docker/observe/container-observer.ts", disk, [
    ["what is written to an image's volumes does not count", "sum + (sizes.get(path) ?? 0)", "sum"],
  ]),
  ...faults("src/engine/docker/containers/container-options.ts", network, [
    ["the daemon gives a run the address of one that has just ended", "{ IPAMConfig: { IPv4Address: options.address } }", "{}"],
  ]),
  ...faults("src/engine/docker/firewall/firewall-rules.ts", network, [
    ["a setting opens metadata services", "[linkLocal, pool, ...deny]", "[pool, ...deny]"],
    ["a group's setting does not count", "const groups = policy.groups.map", "const groups = policy.groups.slice(0, 0).map"],
  ]),
]
