import assert from "node:assert/strict"
import { chmod, chown, rename } from "node:fs/promises"
import type { Fault, FaultFields } from "./fault-server.ts"

export interface FaultWorld {
  /** A registry that answers by the image's name. */
  registry: { host: string }
  busybox: string
  /** An image for another kind of processor. */
  foreign: string
}

const command = (words: string, more: object = {}): FaultFields => ({ image: { Command: words, ...more } })
const script = (text: string): FaultFields => command(`sh -c ${JSON.stringify(text)}`)
const answer500 = "while :; do printf 'HTTP/1.1 500 No\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n' | nc -l -p 8000; done"

/** Faults of images: nothing runs. */
const imageFaults = ({ registry }: FaultWorld): readonly Fault[] => [
  {
    name: "unknown image",
    image: `${registry.host}/unknown/image:7`,
    code: "image_not_found",
    msg: new RegExp(`^Neither the engine nor the registry ${registry.host} has the image ${registry.host}/unknown/image:7$`),
    hint: /name and tag/,
    withinS: 10,
  },
  {
    name: "denied pull",
    image: `${registry.host}/denied/image`,
    code: "image_pull_denied",
    msg: new RegExp(`^The registry ${registry.host} refused to hand out the image ${registry.host}/denied/image:latest$`),
    hint: /administrator to add credentials/,
    withinS: 10,
  },
  {
    name: "registry with an error of its own",
    image: `${registry.host}/broken/image`,
    code: "image_pull_failed",
    msg: /the registry 127\.0\.0\.1:\d+ answered with an error of its own$/,
    withinS: 10,
  },
  {
    name: "registry that is down",
    image: "127.0.0.1:9/lab/tool",
    code: "image_pull_failed",
    msg: /the registry 127\.0\.0\.1:9 cannot be reached$/,
    withinS: 10,
  },
]

/** Faults of commands: nothing runs. */
const commandFaults = ({ busybox, foreign }: FaultWorld): readonly Fault[] => [
  {
    name: "wrong architecture",
    image: foreign,
    code: "wrong_architecture",
    msg: new RegExp(`^The image ${foreign} is made for s390x processors; this machine has \\w+$`),
    hint: /--platform/,
    withinS: 10,
  },
  {
    name: "no such command",
    image: busybox,
    fields: command("nope --port 8000"),
    code: "command_not_found",
    msg: /^The image \S+busybox\S* has no program "nope"$/,
    hint: /"nope"/,
    withinS: 10,
  },
  {
    name: "not executable",
    image: busybox,
    fields: command("/www/index.html"),
    code: "command_not_found",
    msg: /^The program "\/www\/index\.html" of the image \S+ is not executable for runs$/,
    hint: /chmod/,
    withinS: 10,
  },
  {
    name: "wrong type for the image",
    image: busybox,
    fields: { project: { Type: "jupyterlab" } },
    code: "command_not_found",
    msg: /^The image has no program of type jupyterlab: looked for jupyter-lab, .* in the PATH \(.*\) and in \/opt\/conda\/bin, /,
    hint: /another type/,
    exitCode: 127,
    logTail: /looked for jupyter-lab/,
    withinS: 10,
  },
]

/** Faults of programs. */
const programFaults = ({ busybox }: FaultWorld): readonly Fault[] => [
  {
    name: "exit 0 at once",
    image: busybox,
    fields: command("echo done"),
    code: "exited",
    msg: /^The program "echo" ended by itself with exit code 0, as a program does whose work is done$/,
    hint: /answers on port 8000/,
    exitCode: 0,
    logTail: /^done$/,
    withinS: 10,
  },
  {
    name: "exit 3 at once",
    image: busybox,
    fields: script("i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo line $i; done; echo no licence; exit 3"),
    code: "exited",
    msg: /^The program "sh" ended by itself with exit code 3$/,
    hint: /last lines/,
    exitCode: 3,
    logTail: /^line 12\n(line \d+\n){48}no licence$/,
    withinS: 10,
  },
]

/** Programs that do not answer. */
const portFaults = ({ busybox }: FaultWorld): readonly Fault[] => [
  {
    name: "port never opened",
    image: busybox,
    fields: command("sleep 1000"),
    progress: /^the program listens on no port; the project expects 8000$/,
    code: "port_not_open",
    msg: /^Nothing listens on the project's port, 8000: the program listens on no port$/,
    hint: /0\.0\.0\.0/,
    withinS: 10,
  },
  {
    name: "other port",
    image: busybox,
    fields: command("httpd -f -p 3000", { Port: "8888" }),
    progress: /^the program listens on port 3000; the project expects 8888$/,
    code: "port_not_open",
    msg: /^Nothing listens on the project's port, 8888: the program listens on port 3000$/,
    hint: /Port to 3000/,
    withinS: 10,
  },
  {
    name: "only on loopback inside",
    image: busybox,
    fields: command("httpd -f -p 127.0.0.1:8000"),
    progress: /^the program listens on port 8000 of 127\.0\.0\.1 only/,
    code: "port_not_open",
    msg: /127\.0\.0\.1 only; it must listen on 0\.0\.0\.0$/,
    hint: /--host 0\.0\.0\.0/,
    withinS: 10,
  },
  {
    name: "answers 500",
    image: busybox,
    fields: script(answer500),
    progress: /^GET \/ was answered with status 500; the type http expects status below 500$/,
    code: "not_answering",
    msg: /^Port 8000 is open, but GET \/ was answered with status 500/,
    hint: /an error of its own/,
    withinS: 10,
  },
  {
    name: "answers, but not with HTTP",
    image: busybox,
    fields: command("nc -ll -p 8000 -e cat"),
    progress: /^GET \/ was not answered/,
    code: "not_answering",
    msg: /^Port 8000 is open, but GET \/ was not answered/,
    hint: /HTTP on its port/,
    withinS: 10,
  },
]

/** Programs that need more memory. */
const memoryFaults = ({ busybox }: FaultWorld): readonly Fault[] => [
  {
    name: "killed for memory after a minute",
    image: busybox,
    fields: script("httpd -p 8000 -h /www; sleep 60; echo loading; exec tail /dev/zero"),
    wasReady: true,
    code: "oom_killed",
    msg: /^The program used more memory than its 64 MiB and was killed$/,
    exitCode: 137,
    logTail: /loading$/,
    withinS: 70,
  },
  {
    name: "killed for memory at start",
    image: busybox,
    fields: command("tail /dev/zero"),
    code: "oom_killed",
    msg: /^The program used more memory than its 64 MiB and was killed$/,
    hint: /more than 64 MiB/,
    exitCode: 137,
    withinS: 10,
  },
]

/** Faults of data, limits and capacity. */
const resourceFaults = ({ busybox }: FaultWorld): readonly Fault[] => {
  const serve = command("httpd -f -p 8000 -h /www")
  return [
    {
      name: "mount missing",
      image: busybox,
      fields: serve,
      async prepare({ file }, { client }) {
        const { ID, AccessInfo } = await client.createData({ body: { Name: "spectra" } })
        await rename(file(AccessInfo), `${file(AccessInfo)}-elsewhere`)
        return { project: { TrainData: [{ ID }] } }
      },
      code: "mount_missing",
      msg: /^The directory \/users\/ann\/datasets\/spectra, to be mounted at \/work\/data\/spectra, does not exist$/,
      hint: /Create the directory again/,
      withinS: 10,
    },
    {
      name: "dataset withdrawn",
      image: busybox,
      fields: serve,
      async prepare({ people }, { userName }) {
        const bob = people.get("bob")
        assert.ok(bob)
        const { ID } = await bob.client.createData({ body: { Name: "secret spectra" } })
        const grant = await bob.client.createGrant({ body: { DataID: ID, UserName: userName, Access: "read" } })
        return { project: { TrainData: [{ ID }] }, beforeStart: () => bob.client.deleteGrant({ query: { ID: grant.ID } }) }
      },
      code: "data_unavailable",
      msg: /^A dataset mounted at \/work\/data\/secret-spectra was deleted or moved, or is no longer shared with ann/,
      hint: /owner to share it again/,
      withinS: 10,
    },
    {
      name: "home unreadable",
      image: busybox,
      fields: serve,
      starter: "carl",
      async prepare({ file, people }) {
        const carl = people.get("carl")
        assert.ok(carl)
        await chmod(file("users/carl"), 0o700)
        await chown(file("users/carl"), 0, 0)
        return {}
      },
      code: "mount_unreadable",
      msg: /^The home \/users\/carl cannot be opened by runs: the file system does not allow it$/,
      hint: /administrator/,
      withinS: 10,
    },
  ]
}

/** Faults of limits and capacity. */
const capacityFaults = ({ busybox }: FaultWorld): readonly Fault[] => {
  const serve = command("httpd -f -p 8000 -h /www")
  return [
    {
      name: "more CPUs than any node has",
      image: busybox,
      fields: { ...serve, start: { Cpus: 9_000 } },
      code: "insufficient_cpu",
      msg: /^No node has 9000 CPUs; the largest has \d+$/,
      withinS: 10,
    },
    {
      name: "more memory than any node has",
      image: busybox,
      fields: { ...serve, start: { Memory: 90_000_000 } },
      code: "insufficient_memory",
      msg: /^No node has 90000000 MiB of memory for runs; the largest has \d+ MiB$/,
      withinS: 10,
    },
    {
      name: "a GPU where no node has one",
      image: busybox,
      fields: { ...serve, start: { Gpus: 1 } },
      code: "insufficient_gpu",
      msg: /^No node has a GPU$/,
      hint: /without GPUs/,
      withinS: 10,
    },
    {
      name: "quota",
      image: busybox,
      fields: { ...serve, start: { Cpus: 2 } },
      starter: "dora",
      code: "quota_exceeded",
      msg: /^The person's limit is 1 CPUs; with this run it would be 2$/,
      hint: /higher limit/,
      withinS: 10,
    },
  ]
}

const all = [memoryFaults, portFaults, programFaults, imageFaults, commandFaults, resourceFaults, capacityFaults]

/** The slowest first. */
export const allFaults = (world: FaultWorld): readonly Fault[] => all.flatMap((faults) => faults(world))
