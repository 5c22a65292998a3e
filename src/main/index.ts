export { compose, type Quayside } from "./compose/compose.ts"
export type { ComposeOptions } from "./compose/context.ts"
export { SettingError } from "./settings/setting.ts"
export { readSettings, type Settings, settingsTable } from "./settings/settings.ts"
