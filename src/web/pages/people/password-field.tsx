import { Button } from "../../components/button.tsx"
import { TextField } from "../../components/fields.tsx"
import { CopyButton } from "../../components/values.tsx"
import { adminTexts } from "../../text/administration.ts"
import { generatePassword } from "./passwords.ts"

interface PasswordFieldProps {
  value: string
  onValue: (value: string) => void
  error?: string | undefined
  isRequired?: boolean
}

/** A password that an administrator chooses for somebody else, so it can be read and copied. */
export function PasswordField({ value, onValue, error, isRequired = false }: PasswordFieldProps) {
  return (
    <div className="password-row">
      <TextField
        label={adminTexts.people.password}
        value={value}
        onValue={onValue}
        error={error}
        required={isRequired}
        maxLength={1024}
        autoComplete="off"
        spellCheck={false}
      />
      {value !== "" && <CopyButton text={value} />}
      <Button onClick={() => onValue(generatePassword())}>{adminTexts.people.generate}</Button>
    </div>
  )
}
