import { Dialog } from "../components/overlays.tsx"
import { texts } from "../text/index.ts"
import { resumeSession } from "./session.ts"
import { SignInForm } from "./sign-in-form.tsx"

/** Asks for the password again over the page, so that nothing typed is lost. */
export function ExpiredDialog({ isOpen }: { isOpen: boolean }) {
  return (
    <Dialog title={texts.session.expiredTitle} isOpen={isOpen} onClose={() => {}} isRequired>
      <p className="quiet">{texts.session.expiredText}</p>
      <SignInForm onSignedIn={(person) => void resumeSession(person)} next="/ui/" isNewTab />
    </Dialog>
  )
}
