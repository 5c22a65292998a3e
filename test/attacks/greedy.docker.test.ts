import assert from "node:assert/strict"
import { readFile } from "node:fs/promises"
import { after, before, describe, test } from "node:test"
import { sendRequest } from "../api/http-client.ts"
import { ensureBusyboxImage } from "../fixtures/docker/busybox.ts"
import { type OutsideHost, startOutsideHost } from "../fixtures/docker/outside-host.ts"
import { type Person, startTestServer, type TestServer } from "../test-server.ts"

/** Each of these runs has a gigabyte of memory and one processor. */
const askedFor = { Memory: 1_024, Cpus: 1 }
const opened = 100_000
/** More than the host's connection table may contain for one run. */
const sent = 9_600
/**
 * Processes that share this many sockets: they send from some of them to different targets, report,
 * and leave them open.
 */
const sockets = (host: string) => `use Socket; $| = 1; my @kept;
for my $n (1 .. 6) { next if fork; for (1 .. ${Math.ceil(opened / 6)}) { socket(my $s, PF_INET, SOCK_DGRAM, 17) or last; push @kept, $s }
send($kept[$_], "x", 0, sockaddr_in($n * 2000 + $_, inet_aton("${host}"))) for 1 .. ${sent / 6};
print "opened ", scalar(@kept), "\\n"; sleep 1000; exit } sleep 1000`

describe("other people are served while a run", () => {
  let server: TestServer
  let outside: OutsideHost
  let [ann, bob] = [undefined, undefined] as unknown as [Person, Person]
  let neighbour: { ID: number; URL: string }
  const images = new Map<string, number>()
  before(async () => {
    outside = await startOutsideHost()
    server = await startTestServer({ engine: "docker", "memory-overcommit": "4" })
    ;[ann, bob] = [await server.person("ann"), await server.person("bob")]
    neighbour = await start(bob, { image: await ensureBusyboxImage(), script: "exec httpd -f -p 8080 -h /www" })
  })
  after(async () => {
    await bob?.client.stopRun({ query: { ID: neighbour.ID } }).catch(() => {})
    await server[Symbol.asyncDispose]()
    await outside[Symbol.asyncDispose]()
  })

  async function start({ client, userName }: Person, { image, script }: { image: string; script: string }) {
    const Command = JSON.stringify(["sh", "-c", script])
    const { ID: ImageID } = await server.admin.createImage({
      body: { Name: `${userName}${images.size}`, Image: image, Command, Port: "8080", IsPublished: true },
    })
    images.set(script, ImageID)
    const project = await client.createProject({ body: { ProjectName: `p${images.size}`, Type: "http", ImageID } })
    return client.startRun({ body: { ProjectID: project.ID, ...askedFor } })
  }

  /** Requests to the API, to the neighbour's run through the gateway, and for a file of theirs. */
  async function assertServed(): Promise<void> {
    const { baseUrl, filesUrl } = server.quayside
    const as = bob.authorization
    const run = new URL(neighbour.URL)
    const statuses = [
      (await sendRequest(baseUrl, "GET", "/running_projects", { as })).status,
      (await sendRequest(run.origin, "GET", run.pathname, { as })).status,
      (await sendRequest(filesUrl, "PUT", "/users/bob/file", { as, body: "text" })).status,
      (await sendRequest(filesUrl, "GET", "/users/bob/file", { as })).status,
    ]
    assert.deepEqual([...statuses.slice(0, 2), statuses[2] === 201 ? 204 : statuses[2], statuses[3]], [200, 200, 204, 200])
  }

  const readyFirst = "httpd -p 8080 -h /www; "
  const greedy: Record<string, { image?: string; script: string; until: (log: string) => boolean }> = {
    "multiplies its processes": {
      script: `${readyFirst} f() { f & f; }; (f 2>&1 | head -c 2000); sleep 1000`,
      until: (log) => /fork|Resource/i.test(log),
    },
    "asks for all memory": {
      script: `${readyFirst} sh -c 'tail /dev/zero'; echo killed; sleep 1000`,
      until: (log) => log.includes("killed"),
    },
    "fills its directories in memory": {
      script: `${readyFirst} dd if=/dev/zero of=/tmp/x bs=1M 2>&1; echo full; sleep 1000`,
      until: (log) => log.includes("full"),
    },
    "prints without end": {
      script: `${readyFirst} exec busybox yes "$(head -c 1000 /dev/zero | busybox tr '\\0' x)"`,
      until: (log) => log.length > 2_000_000,
    },
  }
  for (const [what, { image, script, until }] of Object.entries(greedy)) {
    test(what, async () => {
      const run = await start(ann, { image: image ?? (await ensureBusyboxImage()), script })
      try {
        do await assertServed()
        while (!until(await logOf(run.ID)))
        await assertServed()
      } finally {
        await ann.client.stopRun({ query: { ID: run.ID } })
      }
    })
  }

  test(`opens ${opened} sockets`, async () => {
    const script = `perl -MIO::Socket::INET -e 'my $l = IO::Socket::INET->new(LocalPort => 8080, Listen => 9, ReuseAddr => 1); if (!fork) { while (my $c = $l->accept) { print $c "HTTP/1.0 200 OK\\r\\n\\r\\n"; close $c } }' & sleep 1; exec perl -e '${sockets(outside.publicAddress)}'`
    const run = await start(ann, { image: "debian:bookworm", script })
    try {
      do await assertServed()
      while ((await logOf(run.ID)).match(/opened \d+/g)?.length !== 6)
      const held = (await logOf(run.ID)).matchAll(/opened (\d+)/g).reduce((sum, [, count]) => sum + Number(count), 0)
      assert.ok(held >= 50_000, `${held} sockets`)
      const tracked = (await readFile("/proc/net/nf_conntrack", "utf8"))
        .split("\n")
        .filter((row) => row.includes(`dst=${outside.publicAddress} `))
      assert.ok(tracked.length > 0 && tracked.length <= 8_192, `${tracked.length} of the host's connections are the run's`)
      await assertServed()
    } finally {
      await ann.client.stopRun({ query: { ID: run.ID } })
    }
  })

  async function logOf(ID: number): Promise<string> {
    return JSON.stringify(await Array.fromAsync(await ann.client.runLogs({ query: { ID, tail: 2_000 } })))
  }
})
