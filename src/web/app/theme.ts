export const themes = ["system", "light", "dark"] as const
export type Theme = (typeof themes)[number]

const key = "quayside.theme"

export function currentTheme(): Theme {
  const stored = localStorage.getItem(key) as Theme
  return themes.includes(stored) ? stored : "system"
}

export function setTheme(theme: Theme): void {
  localStorage.setItem(key, theme)
  applyTheme()
}

/** Without a choice, the system's preference counts. */
export function applyTheme(): void {
  const theme = currentTheme()
  if (theme === "system") delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}
