import type { ReactNode } from "react"
import { fileUrl } from "../../api/files-client.ts"
import { Dialog } from "../../components/overlays.tsx"
import { DescriptionList } from "../../components/page.tsx"
import { CopyableText, CopyButton } from "../../components/values.tsx"
import { files } from "../../text/files.ts"
import { mountingGuides } from "./mounting.ts"

const { mounting } = files

interface MountHelpProps {
  path: string
  userName: string
  isOpen: boolean
  onClose: () => void
}

/** How to mount a directory, the reader's own system first. */
export function MountHelp({ path, userName, isOpen, onClose }: MountHelpProps) {
  const address = `${fileUrl(path)}/`
  return (
    <Dialog title={files.mount} size="wide" isOpen={isOpen} onClose={onClose}>
      <DescriptionList
        entries={[
          [mounting.address, <CopyableText key="address" text={address} />],
          [mounting.user, <CopyableText key="user" text={userName} />],
        ]}
      />
      <p className="quiet small">{mounting.password}</p>
      {mountingGuides({ address, userName, agent: navigator.userAgent }).map(({ system, command }) => (
        <section key={system} className="stack" aria-label={mounting[system]}>
          <h3>{mounting[system]}</h3>
          <p>{mounting[`${system}Text`]}</p>
          {command && <CommandBlock text={command} />}
        </section>
      ))}
    </Dialog>
  )
}

function CommandBlock({ text }: { text: string }): ReactNode {
  return (
    <div className="row copied">
      <pre className="code-block grow" data-wrap="">
        {text}
      </pre>
      <CopyButton text={text} />
    </div>
  )
}
