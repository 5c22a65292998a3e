import { useState } from "react"
import { localeName, locales, setLocale, useLocale } from "../../api/locale.ts"
import { currentTheme, setTheme, themes } from "../../app/theme.ts"
import { Select } from "../../components/fields.tsx"
import { useNow } from "../../components/values.tsx"
import { adminTexts } from "../../text/administration.ts"
import { texts } from "../../text/index.ts"
import "../people/people.css"

const { me } = adminTexts
const { system, light, dark } = texts.common.theme
const themeOptions = themes.map((value) => ({ value, label: { system, light, dark }[value] }))
const localeOptions = locales.map((value) => ({ value, label: value === "" ? me.localeSystem : localeName(value) }))

/** How the pages look in this browser; nothing of it is sent to the server. */
export function Appearance() {
  const [theme, showTheme] = useState(currentTheme)
  const locale = useLocale()
  const now = useNow()
  return (
    <div className="stack narrow-form">
      <Select
        label={me.theme}
        value={theme}
        onValue={(next) => {
          setTheme(next)
          showTheme(next)
        }}
        options={themeOptions}
      />
      <Select
        label={me.locale}
        hint={`${me.example}: ${now.toLocaleString(locale)}`}
        value={(locale ?? "") as (typeof locales)[number]}
        onValue={setLocale}
        options={localeOptions}
      />
    </div>
  )
}
