const error = document.querySelector(".error")

/** Calls the API; throws the message of a refusal. */
async function call(method, path, body) {
  const response = await fetch(path, {
    method,
    ...(body ? { headers: { "Content-Type": "application/json", Prefer: "respond-async" }, body: JSON.stringify(body) } : {}),
  })
  if (response.status === 401) return location.assign("/ui/sign-in")
  const value = await response.json()
  if (!response.ok) throw new Error(value.msg)
  return value
}

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

function action(text, work) {
  const button = element("button", { textContent: text, className: "quiet" })
  button.addEventListener("click", async () => {
    button.disabled = true
    error.textContent = ""
    try {
      await work()
    } catch (failure) {
      error.textContent = failure.message
    }
    shown.clear()
    await show()
  })
  return button
}

const shown = new Map()

/** Replaces a list only when it changed, so that opened details stay open. */
function showList(selector, list, { row, none }) {
  const text = JSON.stringify(list)
  if (shown.get(selector) === text) return
  shown.set(selector, text)
  const content = list.length > 0 ? element("table", {}, ...list.map(row)) : element("p", { className: "empty", textContent: none })
  document.querySelector(selector).replaceChildren(content)
}

const keepButton = (run) => action("Keep", () => call("POST", `/running_project/keep?ID=${run.ID}`))

/** Tells when the run will be stopped, if that is soon. */
function endWarnings({ IdleExpiresAt, ExpiresAt }) {
  const at = (time) => new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })
  const texts = []
  if (IdleExpiresAt) texts.push(`Nobody uses it: it is stopped at ${at(IdleExpiresAt)}`)
  if (ExpiresAt && Date.parse(ExpiresAt) - Date.now() <= 600_000) texts.push(`Its time is over at ${at(ExpiresAt)}: it is stopped then`)
  return texts.map((textContent) => element("div", { className: "warning", role: "status", textContent }))
}

function runRow(run) {
  const name = run.Project.ProjectName ?? `Project ${run.ProjectID}`
  const link = run.URL ? element("a", { href: `/open?ID=${run.ID}`, target: "_blank", textContent: name }) : name
  const state = element("span", { className: run.State, textContent: run.State })
  const reason = element("div", { className: "reason", textContent: run.Reason?.msg ?? run.Progress?.step ?? "" })
  const stop = action("Stop", () => call("DELETE", `/running_project?ID=${run.ID}`))
  const actions = element("td", { className: "actions" }, ...(run.IdleExpiresAt ? [keepButton(run)] : []), stop)
  return element("tr", {}, element("td", {}, link), element("td", {}, state, reason, ...endWarnings(run)), actions)
}

/** Shows how a run ended, why, what to do, and its last output if it ended by itself. */
function endedRow(run) {
  const name = run.Project.ProjectName ?? `Project ${run.ProjectID}`
  const state = element("span", { className: run.State, textContent: run.State })
  const reason = element("div", { className: "reason", textContent: run.Reason?.msg ?? "" })
  const output = run.Reason?.logTail
    ? [element("details", {}, element("summary", { textContent: "Last output" }), element("pre", { textContent: run.Reason.logTail }))]
    : []
  const isStopped = run.Reason?.code.startsWith("stopped_by_")
  const hint = element("div", { className: "reason", textContent: isStopped ? "" : (run.Reason?.hint ?? "") })
  const when = element("div", { className: "reason", textContent: run.EndTime === null ? "" : new Date(run.EndTime).toLocaleString() })
  return element("tr", {}, element("td", {}, name, when), element("td", {}, state, reason, hint, ...output), element("td"))
}

function projectRow(project) {
  const about = element("div", { className: "reason", textContent: project.Comment })
  const start = action(project.isRunning ? "Running" : "Start", () => call("POST", "/running_project", { ProjectID: project.ID }))
  start.disabled = project.isRunning
  return element(
    "tr",
    {},
    element("td", {}, project.ProjectName, about),
    element("td", { textContent: project.Type }),
    element("td", { className: "actions" }, start),
  )
}

let timer
let isUnreachable = false
async function show() {
  clearTimeout(timer)
  const who = await call("GET", "/whoami")
  const own = `/running_projects?UserName=${encodeURIComponent(who.UserName)}`
  const [runs, ended, projects] = await Promise.all([
    call("GET", `${own}&pageSize=200`),
    call("GET", `${own}&State=ended&pageSize=5`),
    call("GET", "/projects?pageSize=100"),
  ])
  const running = new Set(runs.data.map((run) => run.ProjectID))
  document.querySelector(".who").textContent = who.UserName
  const startable = projects.data.map((project) => ({ ...project, isRunning: running.has(project.ID) }))
  showList("#runs", runs.data, { row: runRow, none: "Nothing is running." })
  showList("#projects", startable, {
    row: projectRow,
    none: "There is no project yet. Create one with the API; the first page of the documentation shows how.",
  })
  showList("#ended", ended.data, { row: endedRow, none: "Nothing has ended yet." })
  timer = setTimeout(refresh, runs.data.every((run) => run.State === "ready") ? 10_000 : 1_000)
}

async function refresh() {
  try {
    await show()
    // The message of a refused action stays.
    if (isUnreachable) error.textContent = ""
    isUnreachable = false
  } catch (failure) {
    error.textContent = failure instanceof TypeError ? "The server cannot be reached. This page tries again by itself." : failure.message
    isUnreachable = true
    timer = setTimeout(refresh, 5_000)
  }
}

for (const [button, path] of [
  ["#sign-out", "/session"],
  ["#sign-out-everywhere", "/session?All=1"],
]) {
  document.querySelector(button).addEventListener("click", async () => {
    await call("DELETE", path)
    location.assign("/ui/sign-in")
  })
}
await refresh()
