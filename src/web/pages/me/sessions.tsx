import { useMutation } from "@tanstack/react-query"
import type { User } from "#contract"
import { signOut } from "../../app/session.ts"
import { Button } from "../../components/button.tsx"
import { showError } from "../../components/toast.tsx"
import { adminTexts } from "../../text/administration.ts"
import { EndSessions, SessionList } from "../sessions/session-list.tsx"

const { me, sessions } = adminTexts

export function Sessions({ user: { UserName } }: { user: User }) {
  const leave = useMutation({ mutationFn: () => signOut({ everywhere: true }), onError: showError })
  return (
    <div className="stack">
      <div className="section-header">
        <p className="quiet">{sessions.text}</p>
        <div className="row">
          <EndSessions userName={UserName} keepsOwn />
          <Button kind="danger" isBusy={leave.isPending} onClick={() => leave.mutate()}>
            {me.endAll}
          </Button>
        </div>
      </div>
      <SessionList userName={UserName} />
    </div>
  )
}
