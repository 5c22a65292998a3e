import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { basicAuth, createClient } from "#client"
import { ensureBusyboxImage } from "../fixtures/docker/busybox.ts"
import { eventually } from "../fixtures/eventually.ts"
import { freePorts } from "../fixtures/free-ports.ts"
import { openClusterNamespace } from "../fixtures/kubernetes/cluster-namespace.ts"
import { database, openService } from "../fixtures/kubernetes/cluster-services.ts"
import { loadCopy, loadImage } from "../fixtures/kubernetes/loaded-image.ts"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../../", import.meta.url))
const chart = `${root}deploy/helm`
const helm = async (...words: string[]) => (await run("helm", words, { maxBuffer: 2 ** 24 })).stdout
const least = ["--set", "database.url=postgres://db/quayside", "--set", "files.existingClaim=files"]

test("bad values are refused with what was wanted", async () => {
  const refused = async (...words: string[]) =>
    helm("template", "q", chart, ...words).then(
      () => assert.fail("accepted"),
      ({ stderr }: { stderr: string }) => stderr,
    )
  const kube = ["--kube-version", "1.34.0"]
  // Helm names faults in any order.
  const missing = await refused(...kube)
  for (const path of ["/database/url", "/files/existingClaim"]) assert.match(missing, new RegExp(`at '${path}'`))
  assert.match(await refused(...kube, ...least, "--set", "database.url=mysql://db"), /'mysql:\/\/db' does not match pattern/)
  assert.match(
    await refused(...kube, ...least, "--set", "processes.api.roles={apis}"),
    /must be one of 'api', 'supervisor', 'gateway', 'files'/,
  )
  assert.match(await refused(...kube, ...least, "--set", "urls.base=quayside.example.com"), /at '\/urls\/base'/)
  assert.match(await refused(...kube, ...least, "--set", "replicas=3"), /additional properties 'replicas' not allowed/)
  assert.match(await refused("--kube-version", "1.30.0", ...least), /requires kubeVersion: >=1.31/)
})

test("a process has as many replicas as its values say, one by default, and none at 0", async () => {
  const replicas = async (...words: string[]) => {
    const made = await helm(
      "template",
      "q",
      chart,
      "--kube-version",
      "1.34.0",
      "--show-only",
      "templates/deployments.yaml",
      ...least,
      ...words,
    )
    return [...made.matchAll(/^ {2}replicas: (\d+)$/gm)].map(([, count]) => Number(count))
  }
  assert.deepEqual(await replicas(), [2, 2, 2, 2])
  assert.deepEqual(await replicas("--set", "processes.api.replicas=0", "--set", "processes.gateway.replicas=null"), [0, 2, 1, 2])
})

test("nothing outside the chart's Secret is made from its values", async () => {
  const made = async (password: string) => {
    const secrets = ["--set", `admin.password=${password}`, "--set", `database.url=postgres://quayside:${password}@db/quayside`]
    const files = ["deployments", "services", "rbac"].flatMap((name) => ["--show-only", `templates/${name}.yaml`])
    return helm("template", "q", chart, "--kube-version", "1.34.0", ...files, ...least.slice(2), ...secrets)
  }
  assert.equal(await made("one"), await made("two"))
})

test("the cluster accepts all that the chart and its examples make", async () => {
  await using namespace = await openClusterNamespace("baseline")
  const examples = ["one-process", "ingress", "kind"].map((name) => ["--values", `${chart}/examples/${name}.yaml`])
  for (const values of [[], ...examples]) {
    const manifests = await helm("template", "q", chart, "--namespace", namespace.name, "--kube-version", "1.34.0", ...least, ...values)
    await namespace.kubectl(["apply", "--dry-run=server", "-f", "-"], manifests)
  }
})

test("the chart's rights are those of access.yaml, and the gateway's are fewer", async () => {
  const rules = (text: string) => [...text.matchAll(/^\s+- \{ apiGroups: .*\}$/gm)].map(([line]) => line.trim())
  const made = await helm("template", "q", chart, "--kube-version", "1.34.0", "--show-only", "templates/rbac.yaml", ...least)
  const { stdout: wanted } = await run("cat", [`${root}deploy/kubernetes/access.yaml`])
  const gateway = '- { apiGroups: [""], resources: [pods], verbs: [list, watch] }'
  assert.deepEqual(
    rules(made)
      .filter((rule) => rule !== gateway)
      .sort(),
    rules(wanted).sort(),
  )
  assert.equal(rules(made).filter((rule) => rule === gateway).length, 1)
})

test("an installation from the chart runs projects, with two replicas of the roles that may have them", { timeout: 400_000 }, async () => {
  const image = await loadCopy(await ensureBusyboxImage())
  for (const name of ["quayside:latest", "quayside-test/postgres:latest"]) await loadImage(name)
  await using namespace = await openClusterNamespace("baseline")
  const { kubectl } = namespace
  await kubectl(["apply", "-f", "-"], database)
  const [base, apps, files] = (await freePorts(3)) as [number, number, number]
  const values = {
    image: { repository: "quayside", tag: "latest", pullPolicy: "Never" },
    urls: { base: `http://localhost:${base}`, apps: `http://localhost:${apps}`, files: `http://localhost:${files}` },
    database: { url: "postgres://postgres@database/postgres" },
    files: { existingClaim: "files" },
    settings: { LOG_LEVEL: "info" },
  }
  const install = run("helm", ["install", "q", chart, "--namespace", namespace.name, "--wait", "--timeout", "180s", "--values", "-"])
  install.child.stdin?.end(JSON.stringify(values))
  const { stdout: notes } = await install.catch(async (error: unknown) => {
    process.stderr.write(await kubectl(["get", "pods,events"]))
    process.stderr.write(await kubectl(["logs", "--selector", "app.kubernetes.io/name=quayside", "--tail", "20", "--prefix"]))
    throw error
  })
  try {
    assert.match(notes, /The first administrator is admin/)
    const password = Buffer.from(await kubectl(["get", "secret", "q", "-o", "jsonpath={.data.password}"]), "base64").toString()
    await using _api = await openService(namespace, "q-api", base)
    await using _apps = await openService(namespace, "q-apps", apps)
    await using _files = await openService(namespace, "q-files", files)
    const authorization = basicAuth("admin", password)
    const client = createClient({ baseUrl: values.urls.base, authorization })
    await eventually("the installation is ready", async () => (await fetch(`${values.urls.base}/readyz`)).status === 200, 60_000)
    const ready = (await kubectl(["get", "pods", "--selector", "app.kubernetes.io/name=quayside", "--output", "name"])).split("\n")
    assert.equal(ready.length, 8)

    for (const path of ["/ui/style.css", "/ui/icon.svg"]) assert.equal((await fetch(`${values.urls.base}${path}`)).status, 200, path)
    const put = await fetch(`${values.urls.files}/users/admin/rows.csv`, { method: "PUT", headers: { authorization }, body: "a,b\n" })
    assert.equal(put.status, 201)
    const body = { Name: "page", Image: image, Command: 'sh -c "exec httpd -f -p 8000 -h $HOME"', Port: "8000" }
    const { ID: ImageID } = await client.createImage({ body })
    const { ID: ProjectID } = await client.createProject({ body: { ProjectName: "page", Type: "http", ImageID } })
    const started = await client.startRun({ body: { ProjectID, Memory: 64 } })
    assert.equal(started.State, "ready", JSON.stringify(started.Reason))
    const read = async () => (await fetch(`${started.URL}rows.csv`, { headers: { authorization } })).text()
    assert.equal(await read(), "a,b\n", "the run's page is the home that WebDAV wrote to")

    await kubectl(["delete", "pods", "--selector", "app.kubernetes.io/component in (api, supervisor)", "--wait=false"])
    assert.equal(await read(), "a,b\n", "the gateway needs neither API nor supervisor")
    await kubectl(["rollout", "status", "deployment/q-api", "--timeout=120s"])
    await kubectl(["rollout", "status", "deployment/q-supervisor", "--timeout=120s"])
    await eventually("a process supervises", async () => (await fetch(`${values.urls.base}/readyz`)).status === 200, 60_000)
    assert.equal((await client.stopRun({ query: { ID: started.ID } })).ok, true)
    assert.equal((await client.startRun({ body: { ProjectID, Memory: 64 } })).State, "ready")
  } finally {
    await run("helm", ["uninstall", "q", "--namespace", namespace.name, "--wait"])
  }
})
