import { bounds } from "#contract"
import { isNetworkPool, wellKnownRegistries } from "#engine"
import {
  choiceOf,
  integerBetween,
  parseBytesOrNone,
  parseGroupInternet,
  parseRegistries,
  parseSocketPath,
  parseSubnets,
  parseText,
  throwExpected,
} from "./parse.ts"
import { setting } from "./setting.ts"

/** How runs are contained, and which images they may use. */
export const engineSettings = {
  engine: setting({
    env: "ENGINE",
    default: "docker",
    initial: "docker" as "docker" | "fake",
    read: choiceOf("docker", "fake"),
    doc: "The container engine: `docker`, or `fake` (runs no containers, to try out the API).",
  }),
  dockerSocket: setting({
    env: "DOCKER_SOCKET",
    default: "DOCKER_HOST, else /var/run/docker.sock",
    initial: "",
    read: parseSocketPath,
    doc: "Path of the Docker Engine's socket.",
  }),
  isolation: setting({
    env: "ISOLATION",
    default: "on",
    initial: "on" as "on" | "off",
    read: choiceOf("on", "off"),
    doc: "`off` starts without root and without the isolation of runs: only for one trusted person on their own machine.",
  }),
  runUid: setting({
    env: "RUN_UID",
    default: "1000",
    initial: 1000,
    read: integerBetween(1, 2 ** 31 - 1),
    doc: "User and group ID of the programs in runs, and owner of all files below the files root.",
  }),
  networkPool: setting({
    env: "NETWORK_POOL",
    default: "10.213.0.0/16",
    initial: "10.213.0.0/16",
    read: (value) => (isNetworkPool(value) ? value : throwExpected("a network from /8 to /24 like 10.213.0.0/16")),
    doc: "Addresses of runs: each person gets a network of 32 from it. Choose a private range that the host and its network do not use.",
  }),
  internet: setting({
    env: "INTERNET",
    default: "on",
    initial: "on" as "on" | "off",
    read: choiceOf("on", "off"),
    doc: "Whether runs reach public addresses and the host's name servers.",
  }),
  groupInternet: setting({
    env: "GROUP_INTERNET",
    default: "none",
    initial: [] as { group: string; internet: boolean | string[] }[],
    read: parseGroupInternet,
    doc: "Exceptions for the members of groups, separated by commas: `students=off`, `staff=on`, or only some networks, `lab=198.51.100.0/24+203.0.113.7`. The first entry that names one of a person's groups applies, from their next start on.",
  }),
  networkAllow: setting({
    env: "NETWORK_ALLOW",
    default: "none",
    initial: [] as string[],
    read: parseSubnets,
    doc: "Private addresses and networks, separated by commas, that runs reach. Never the host itself or other runs.",
  }),
  networkDeny: setting({
    env: "NETWORK_DENY",
    default: "none",
    initial: [] as string[],
    read: parseSubnets,
    doc: "Public addresses and networks that runs do not reach. Wins over `NETWORK_ALLOW`.",
  }),
  seccomp: setting({
    env: "SECCOMP",
    default: "Quayside's own profile",
    initial: "",
    read: parseText,
    doc: "A file with the system calls that runs may make, instead of Quayside's own: a seccomp profile in Docker's JSON format that lists what is allowed. Read at the start.",
  }),
  gpus: setting({
    env: "GPUS",
    default: "auto",
    initial: "auto" as "auto" | "nvidia" | "none",
    read: choiceOf("auto", "nvidia", "none"),
    doc: "The GPUs of runs: those that `nvidia-smi` lists, if it is installed (`auto`), the same but no start without one that works (`nvidia`), or `none`.",
  }),
  mockGpus: setting({
    env: "MOCK_GPUS",
    default: "0",
    initial: 0,
    read: integerBetween(0, 1024),
    doc: "Number of simulated GPUs, to try out scheduling. Replaces real ones.",
  }),
  registries: setting({
    env: "REGISTRIES",
    default: wellKnownRegistries.join(","),
    initial: [...wellKnownRegistries] as string[],
    read: parseRegistries,
    doc: "Registries that images may come from, separated by commas: hosts as in image references (`docker.io`, `registry.lan:5000`, `registry.lan:*` for any port), `*.example.com` for a domain, and `public` for every registry with a public name and only public addresses. Name only registries that you trust: Docker reads what they send without a limit. A value replaces the default, so repeat the entries that should stay.",
  }),
  registryCredentials: setting({
    env: "REGISTRY_CREDENTIALS",
    default: "none",
    initial: "",
    read: parseText,
    doc: "A file, mode 0600, with credentials of registries and the people who may use them: see docs/how-to/registries.md.",
  }),
  maxImageSize: setting({
    env: "MAX_IMAGE_SIZE",
    default: "20GiB",
    initial: bounds.containers.imageBytes.value as number,
    read: parseBytesOrNone,
    doc: "Maximum size of an image to pull; 0 means unlimited. Compressed layers count during the pull, unpacked ones afterwards.",
  }),
} as const
