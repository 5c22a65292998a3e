import { bounds } from "#contract"
import { isNetworkPool, wellKnownRegistries } from "#engine"
import { groupInternet, oneOf, registries, sizeOrNone, socketPath, subnets, text, wanted, whole } from "./parse.ts"
import { setting } from "./setting.ts"

/** How runs are contained, and which images they may use. */
export const engineSettings = {
  engine: setting({
    env: "ENGINE",
    default: "docker",
    initial: "docker" as "docker" | "fake",
    read: oneOf("docker", "fake"),
    doc: "What runs containers: `docker`, or `fake` (pretends, for trying out the API).",
  }),
  dockerSocket: setting({
    env: "DOCKER_SOCKET",
    default: "DOCKER_HOST, else /var/run/docker.sock",
    initial: "",
    read: socketPath,
    doc: "Path of the Docker Engine's socket.",
  }),
  isolation: setting({
    env: "ISOLATION",
    default: "on",
    initial: "on" as "on" | "off",
    read: oneOf("on", "off"),
    doc: "`off` starts without the rights that isolation needs: only for one trusted person on their own machine.",
  }),
  runUid: setting({
    env: "RUN_UID",
    default: "1000",
    initial: 1000,
    read: whole(1, 2 ** 31 - 1),
    doc: "User and group ID of the programs that run, and owner of all files below the files root.",
  }),
  networkPool: setting({
    env: "NETWORK_POOL",
    default: "10.213.0.0/16",
    initial: "10.213.0.0/16",
    read: (value) => (isNetworkPool(value) ? value : wanted("a network from /8 to /24 like 10.213.0.0/16")),
    doc: "Addresses of runs: each person gets a network of 32 from it. Choose a private range that nothing else on the host or its network uses.",
  }),
  internet: setting({
    env: "INTERNET",
    default: "on",
    initial: "on" as "on" | "off",
    read: oneOf("on", "off"),
    doc: "Whether runs reach public addresses, and the host's name servers.",
  }),
  groupInternet: setting({
    env: "GROUP_INTERNET",
    default: "none",
    initial: [] as { group: string; internet: boolean | string[] }[],
    read: groupInternet,
    doc: "What the runs of some groups' members reach instead, with commas between: `students=off`, `staff=on`, or only some networks, `lab=198.51.100.0/24+203.0.113.7`. The first entry that names a group of the person counts, from their next start on.",
  }),
  networkAllow: setting({
    env: "NETWORK_ALLOW",
    default: "none",
    initial: [] as string[],
    read: subnets,
    doc: "Addresses and networks, with commas between, that runs reach although they are private. Not the host itself, nor other runs.",
  }),
  networkDeny: setting({
    env: "NETWORK_DENY",
    default: "none",
    initial: [] as string[],
    read: subnets,
    doc: "Addresses and networks that runs do not reach although they are public. Wins over `NETWORK_ALLOW`.",
  }),
  seccomp: setting({
    env: "SECCOMP",
    default: "Quayside's own profile",
    initial: "",
    read: text,
    doc: "A file with the system calls that runs may make, instead of Quayside's own: JSON in the form of Docker's seccomp profiles, one that names what is allowed. Read at the start.",
  }),
  mockGpus: setting({
    env: "MOCK_GPUS",
    default: "0",
    initial: 0,
    read: whole(0, 1024),
    doc: "So many pretended GPUs, for trying out scheduling.",
  }),
  registries: setting({
    env: "REGISTRIES",
    default: wellKnownRegistries.join(","),
    initial: [...wellKnownRegistries] as string[],
    read: registries,
    doc: "Where images may come from, with commas between: hosts as references name them (`docker.io`, `registry.lan:5000`, `registry.lan:*` for any port), `*.example.com` for a domain, and `public` for all that have a public name with public addresses only. A value replaces the default: name those of it that are still wanted.",
  }),
  registryCredentials: setting({
    env: "REGISTRY_CREDENTIALS",
    default: "none",
    initial: "",
    read: text,
    doc: "A file, mode 0600, with the credentials of registries and for whom each is: see docs/how-to/registries.md.",
  }),
  maxImageSize: setting({
    env: "MAX_IMAGE_SIZE",
    default: "20GiB",
    initial: bounds.containers.imageBytes.value as number,
    read: sizeOrNone,
    doc: "The largest image that is fetched; 0 is no bound. Counted packed while it comes, and unpacked once it is there.",
  }),
} as const
