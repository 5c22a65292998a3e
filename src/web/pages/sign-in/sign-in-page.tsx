import { useSearch } from "@tanstack/react-router"
import { useEffect } from "react"
import { safeNextUrl } from "../../app/safe-next-url.ts"
import { SignInForm } from "../../app/sign-in-form.tsx"
import { Card } from "../../components/page.tsx"
import { texts } from "../../text/index.ts"
import "./sign-in.css"

export function SignInPage() {
  const search = useSearch({ from: "/sign-in" })
  const next = safeNextUrl(search.next, location.origin)
  useEffect(() => {
    document.title = `${texts.session.pageTitle} · ${texts.common.product}`
  }, [])
  return (
    <main className="centered">
      <div className="sign-in">
        <Card>
          <header className="row">
            <img src="/ui/icon.svg" alt="" />
            <h1>{texts.session.title}</h1>
          </header>
          <SignInForm next={next} onSignedIn={() => location.replace(next)} />
        </Card>
      </div>
    </main>
  )
}
