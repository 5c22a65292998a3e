const error = document.querySelector(".error")

/** Asks the API; a refusal is thrown with the server's own sentence. */
async function ask(method, path, body) {
  const answer = await fetch(path, {
    method,
    ...(body ? { headers: { "Content-Type": "application/json", Prefer: "respond-async" }, body: JSON.stringify(body) } : {}),
  })
  if (answer.status === 401) return location.assign("/ui/sign-in")
  const value = await answer.json()
  if (!answer.ok) throw new Error(value.msg)
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

/** Shows a list anew only when it changed, so that what somebody opened stays open. */
function fill(place, list, { row, none }) {
  const text = JSON.stringify(list)
  if (shown.get(place) === text) return
  shown.set(place, text)
  const content = list.length > 0 ? element("table", {}, ...list.map(row)) : element("p", { className: "empty", textContent: none })
  document.querySelector(place).replaceChildren(content)
}

function runRow(run) {
  const name = run.Project.ProjectName ?? `Project ${run.ProjectID}`
  const link = run.URL ? element("a", { href: `/open?ID=${run.ID}`, target: "_blank", textContent: name }) : name
  const state = element("span", { className: run.State, textContent: run.State })
  const reason = element("div", { className: "reason", textContent: run.Reason?.msg ?? run.Progress?.step ?? "" })
  const stop = action("Stop", () => ask("DELETE", `/running_project?ID=${run.ID}`))
  return element("tr", {}, element("td", {}, link), element("td", {}, state, reason), element("td", { className: "actions" }, stop))
}

/** What became of a run, and why: the last lines of its output where it ended by itself. */
function overRow(run) {
  const name = run.Project.ProjectName ?? `Project ${run.ProjectID}`
  const state = element("span", { className: run.State, textContent: run.State })
  const reason = element("div", { className: "reason", textContent: run.Reason?.msg ?? "" })
  const output = run.Reason?.logTail
    ? [element("details", {}, element("summary", { textContent: "Last output" }), element("pre", { textContent: run.Reason.logTail }))]
    : []
  const when = element("div", { className: "reason", textContent: run.EndTime === null ? "" : new Date(run.EndTime).toLocaleString() })
  return element("tr", {}, element("td", {}, name, when), element("td", {}, state, reason, ...output), element("td"))
}

function projectRow(project) {
  const about = element("div", { className: "reason", textContent: project.Comment })
  const start = action(project.isTaken ? "Running" : "Start", () => ask("POST", "/running_project", { ProjectID: project.ID }))
  start.disabled = project.isTaken
  return element(
    "tr",
    {},
    element("td", {}, project.ProjectName, about),
    element("td", { textContent: project.Type }),
    element("td", { className: "actions" }, start),
  )
}

let asked
let isAway = false
async function show() {
  clearTimeout(asked)
  const who = await ask("GET", "/whoami")
  const own = `/running_projects?UserName=${encodeURIComponent(who.UserName)}`
  const [runs, over, projects] = await Promise.all([
    ask("GET", `${own}&pageSize=200`),
    ask("GET", `${own}&State=ended&pageSize=5`),
    ask("GET", "/projects?pageSize=100"),
  ])
  const running = new Set(runs.data.map((run) => run.ProjectID))
  document.querySelector(".who").textContent = who.UserName
  const startable = projects.data.map((project) => ({ ...project, isTaken: running.has(project.ID) }))
  fill("#runs", runs.data, { row: runRow, none: "Nothing runs." })
  fill("#projects", startable, {
    row: projectRow,
    none: "There is no project yet. Make one through the API: the documentation's first page shows how.",
  })
  fill("#over", over.data, { row: overRow, none: "Nothing yet." })
  asked = setTimeout(refresh, runs.data.every((run) => run.State === "ready") ? 10_000 : 1_000)
}

async function refresh() {
  try {
    await show()
    // What an action was refused with stays to be read.
    if (isAway) error.textContent = ""
    isAway = false
  } catch (failure) {
    error.textContent = failure instanceof TypeError ? "The server cannot be reached; this page goes on by itself." : failure.message
    isAway = true
    asked = setTimeout(refresh, 5_000)
  }
}

for (const [button, path] of [
  ["#sign-out", "/session"],
  ["#sign-out-everywhere", "/session?All=1"],
]) {
  document.querySelector(button).addEventListener("click", async () => {
    await ask("DELETE", path)
    location.assign("/ui/sign-in")
  })
}
await refresh()
