export { type ComposeOptions, compose, type Quayside } from "./compose.ts"
export { readSettings, SettingError, type Settings, settingsTable } from "./settings.ts"
