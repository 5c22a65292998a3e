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
    await show()
  })
  return button
}

function fill(place, rows, none) {
  document
    .querySelector(place)
    .replaceChildren(rows.length > 0 ? element("table", {}, ...rows) : element("p", { className: "empty", textContent: none }))
}

function runRow(run) {
  const name = run.Project.ProjectName ?? `Project ${run.ProjectID}`
  const link = run.URL ? element("a", { href: `/open?ID=${run.ID}`, target: "_blank", textContent: name }) : name
  const state = element("span", { className: run.State, textContent: run.State })
  const reason = element("div", { className: "reason", textContent: run.Reason?.msg ?? run.Progress?.step ?? "" })
  const stop = action("Stop", () => ask("DELETE", `/running_project?ID=${run.ID}`))
  return element("tr", {}, element("td", {}, link), element("td", {}, state, reason), element("td", { className: "actions" }, stop))
}

function projectRow(project, running) {
  const about = element("div", { className: "reason", textContent: project.Comment })
  const start = action(running ? "Running" : "Start", () => ask("POST", "/running_project", { ProjectID: project.ID }))
  start.disabled = running
  return element(
    "tr",
    {},
    element("td", {}, project.ProjectName, about),
    element("td", { textContent: project.Type }),
    element("td", { className: "actions" }, start),
  )
}

let asked
async function show() {
  clearTimeout(asked)
  const who = await ask("GET", "/whoami")
  const [runs, projects] = await Promise.all([
    ask("GET", `/running_projects?UserName=${encodeURIComponent(who.UserName)}&pageSize=200`),
    ask("GET", "/projects?pageSize=100"),
  ])
  const running = new Set(runs.data.map((run) => run.ProjectID))
  document.querySelector(".who").textContent = who.UserName
  fill("#runs", runs.data.map(runRow), "Nothing runs.")
  fill(
    "#projects",
    projects.data.map((project) => projectRow(project, running.has(project.ID))),
    "There is no project yet. Make one through the API: the documentation's first page shows how.",
  )
  asked = setTimeout(refresh, runs.data.every((run) => run.State === "ready") ? 10_000 : 1_000)
}

async function refresh() {
  try {
    await show()
  } catch (failure) {
    error.textContent = failure.message
    asked = setTimeout(refresh, 5_000)
  }
}

document.querySelector("#sign-out").addEventListener("click", async () => {
  await ask("DELETE", "/session")
  location.assign("/ui/sign-in")
})
await refresh()
