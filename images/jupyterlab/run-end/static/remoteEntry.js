// Warns in JupyterLab 4 and Notebook 7 before the run ends, and keeps it by a click. Written as the
// modules are that JupyterLab loads (module federation), so nothing has to be built.
;(() => {
  const name = "quayside-run-end"
  const askEveryMs = 30_000
  const warnBeforeMs = 10 * 60_000
  let sharedModules

  window._JUPYTERLAB ??= {}
  window._JUPYTERLAB[name] = {
    init(modules) {
      sharedModules = modules
    },
    async get() {
      return () => plugin
    },
  }

  const plugin = {
    id: `${name}:plugin`,
    description: "Warns before the end of the run.",
    autoStart: true,
    activate: async () => {
      const [apputils] = Object.values(sharedModules["@jupyterlab/apputils"])
      void watchRun((await apputils.get())().Notification)
    },
  }

  async function watchRun(Notification) {
    let shown
    const show = (end) => {
      if (shown?.text === end?.text) return
      if (shown) Notification.dismiss(shown.id)
      const keep = { label: "Keep running", displayType: "accent", callback: keepRunning }
      shown = end && { text: end.text, id: Notification.warning(end.text, { autoClose: false, actions: end.canKeep ? [keep] : [] }) }
    }
    const keepRunning = async () => {
      shown = undefined
      const run = await askRun("keep", "POST").catch(() => undefined)
      if (run) show(endOf(run))
    }
    for (;;) {
      const run = await askRun("run", "GET").catch(() => undefined)
      // Without Quayside there is no such address.
      if (run === null) return
      if (run) show(endOf(run))
      await new Promise((resolve) => setTimeout(resolve, askEveryMs))
    }
  }

  /** Null where no Quayside answers; undefined when it does not answer now. */
  async function askRun(path, method) {
    const response = await fetch(`/.quayside/${path}`, { method })
    if (response.status === 404) return null
    return response.ok ? response.json() : undefined
  }

  function endOf(run) {
    const timeOf = (time) => new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })
    if (run?.IdleExpiresAt)
      return { text: `Nobody uses this run: it will be stopped at ${timeOf(run.IdleExpiresAt)}. Files stay.`, canKeep: true }
    if (run?.ExpiresAt && Date.parse(run.ExpiresAt) - Date.now() < warnBeforeMs)
      return { text: `The time of this run ends at ${timeOf(run.ExpiresAt)}. Save your work.`, canKeep: false }
    return undefined
  }
})()
