import { useMutation } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Project } from "#contract"
import { client } from "../../api/client.ts"
import type { Rights } from "../../api/rights.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { IconButton } from "../../components/button.tsx"
import { Confirmations } from "../../components/confirmations.tsx"
import { Note } from "../../components/feedback.tsx"
import { Dialog, Menu } from "../../components/overlays.tsx"
import { showError, showToast } from "../../components/toast.tsx"
import { texts } from "../../text/index.ts"
import { resourceTexts } from "../../text/resources.ts"
import { ShareButton } from "../sharing/share-dialog.tsx"
import { useOwnRun } from "../start/own-run.ts"

const { projects, listing } = resourceTexts
type DialogName = "publish" | "release" | "delete"

/** Everything that the person may do with the project. */
export function ProjectActions({ project, rights }: { project: Project; rights: Rights }) {
  const { ID, ProjectName } = project
  const [dialog, setDialog] = useState<DialogName>()
  const [warnings, setWarnings] = useState<readonly string[]>([])
  const act = useProjectChanges(project, setWarnings)
  const ask = (label: string, icon: "share" | "open" | "trash" | "copy", what: DialogName) => ({
    label,
    icon,
    onSelect: () => setDialog(what),
  })
  const publish = project.IsPublic
    ? { label: listing.withdraw, icon: "close" as const, onSelect: () => act.publish.mutate(false) }
    : ask(listing.publish, "open", "publish")
  return (
    <>
      {rights.canUse && <StartOrShow project={ID} />}
      {rights.canChange && (
        <ButtonLink to="/projects/$id/edit" params={{ id: ID }} icon="edit">
          {resourceTexts.editing.edit}
        </ButtonLink>
      )}
      {rights.canManage && <ShareButton target={{ ProjectID: ID }} name={ProjectName} />}
      <Menu
        trigger={<IconButton label={texts.common.more} icon="more" kind="default" />}
        groups={[
          [
            { label: projects.copy, icon: "copy", onSelect: () => act.copy.mutate() },
            ...(rights.canManage ? [publish, ask(projects.release, "share", "release")] : []),
          ],
          ...(rights.canManage ? [[{ ...ask(listing.delete, "trash", "delete"), tone: "danger" as const }]] : []),
        ]}
      />
      <ProjectConfirmations name={ProjectName} shown={dialog} act={act} onClose={() => setDialog(undefined)} />
      <Dialog title={projects.warnings} isOpen={warnings.length > 0} onClose={() => setWarnings([])}>
        {warnings.map((warning) => (
          <Note key={warning} tone="warn">
            {warning}
          </Note>
        ))}
      </Dialog>
    </>
  )
}

/** A person has one run of a project at a time: while there is one, the button leads to it. */
function StartOrShow({ project }: { project: number }) {
  const run = useOwnRun(project)
  if (run)
    return (
      <ButtonLink to="/runs/$id" params={{ id: run.ID }} kind="primary" icon="right">
        {texts.run.show}
      </ButtonLink>
    )
  return (
    <ButtonLink to="/start/$project" params={{ project }} kind="primary" icon="play">
      {projects.start}
    </ButtonLink>
  )
}

interface ProjectConfirmationsProps {
  name: string
  shown: DialogName | undefined
  act: ReturnType<typeof useProjectChanges>
  onClose: () => void
}

function ProjectConfirmations({ name, shown, act, onClose }: ProjectConfirmationsProps) {
  return (
    <Confirmations
      shown={shown}
      onClose={onClose}
      confirmations={{
        publish: {
          title: projects.publishTitle(name),
          text: projects.publishText,
          action: listing.publish,
          onConfirm: () => act.publish.mutate(true),
        },
        release: {
          title: projects.releaseTitle,
          text: projects.releaseText,
          action: projects.release,
          onConfirm: () => act.release.mutate(),
        },
        delete: {
          title: projects.deleteTitle(name),
          text: projects.deleteText,
          action: listing.delete,
          onConfirm: () => act.remove.mutate(),
        },
      }}
    />
  )
}

function useProjectChanges({ ID, ProjectName }: Project, onWarnings: (warnings: readonly string[]) => void) {
  const navigate = useNavigate()
  const options = { onError: showError }
  return {
    publish: useMutation({
      ...options,
      mutationFn: (IsPublic: boolean) => client.updateProject({ body: { ID, IsPublic } }),
      onSuccess: ({ IsPublic, Warnings = [] }) => {
        onWarnings(Warnings)
        showToast(IsPublic ? listing.publishedToast(ProjectName) : listing.withdrawnToast(ProjectName))
      },
    }),
    release: useMutation({
      ...options,
      mutationFn: () => client.releaseProject({ query: { ID } }),
      onSuccess: () => showToast(projects.released),
    }),
    copy: useMutation({
      ...options,
      mutationFn: () => client.copyProject({ query: { ID } }),
      onSuccess: (copy) => {
        showToast(projects.copied(copy.ProjectName))
        void navigate({ to: "/projects/$id", params: { id: copy.ID } })
      },
    }),
    remove: useMutation({
      ...options,
      mutationFn: () => client.deleteProject({ query: { ID } }),
      onSuccess: () => {
        showToast(listing.deletedToast(ProjectName), { undo: () => client.restoreProject({ query: { ID } }) })
        void navigate({ to: "/projects", search: { show: "bin" } })
      },
    }),
  }
}
