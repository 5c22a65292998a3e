export { type ComposeOptions, compose, type Quayside } from "./compose.ts"
export { SettingError } from "./settings/setting.ts"
export { readSettings, type Settings, settingsTable } from "./settings/settings.ts"
