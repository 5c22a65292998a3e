import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import type { ImageCheck } from "#contract"
import { client } from "../../api/client.ts"
import { toSentence } from "../../api/error-text.ts"
import { formatBytes } from "../../api/formats.ts"
import { imagePullQuery } from "../../api/image-pull.ts"
import { apiQuery } from "../../api/queries.ts"
import { Button } from "../../components/button.tsx"
import { ErrorState, Loaded, Note } from "../../components/feedback.tsx"
import { DescriptionList } from "../../components/page.tsx"
import { CopyableText } from "../../components/values.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { ProgressLine } from "../run/start-progress.tsx"

const { images } = resourceTexts

/** The image as the engine has it, and what fetches it. */
export function ImageState({ id, canPull }: { id: number; canPull: boolean }) {
  const check = useQuery(apiQuery("checkImage", { query: { ID: id } }))
  return (
    <Loaded query={check} height={6}>
      {(data) => (
        <div className="stack">
          {data.Present ? <PresentImage check={data} /> : !data.Pulling && <Absent />}
          <Pull check={data} canPull={canPull} />
        </div>
      )}
    </Loaded>
  )
}

function Absent() {
  return (
    <Note>
      <div className="grow">
        <strong>{images.absent}</strong>
        <p>{images.absentHint}</p>
      </div>
    </Note>
  )
}

function PresentImage({ check }: { check: ImageCheck }) {
  const code = (words: readonly string[]) => (words.length === 0 ? "" : <code>{words.join(" ")}</code>)
  return (
    <DescriptionList
      entries={[
        [images.size, formatBytes(check.Size)],
        [images.digest, <CopyableText key="digest" text={check.Digest} />],
        [images.registryDigest, check.RegistryDigest && <CopyableText key="registryDigest" text={check.RegistryDigest} />],
        [images.types, check.Types.map((type) => resourceTexts.projects.types[type]).join(", ")],
        [images.user, check.User],
        [images.entryPoint, code(check.EntryPoint)],
        [images.imageCommand, code(check.Command)],
        [images.workDir, check.WorkDir && <code>{check.WorkDir}</code>],
        [images.ports, check.Ports.join(", ")],
      ]}
    />
  )
}

/** Fetches the image; events tell how far it is, also to others who look at this page. */
function Pull({ check, canPull }: { check: ImageCheck; canPull: boolean }) {
  const cache = useQueryClient()
  const { data: step } = useQuery(imagePullQuery(check.ID))
  const pull = useMutation({
    mutationFn: () => client.pullImage({ query: { ID: check.ID }, headers: { prefer: "respond-async" } }),
    onMutate: () => cache.setQueryData(imagePullQuery(check.ID).queryKey, null),
    onSuccess: (answer) => cache.setQueryData(apiQuery("checkImage", { query: { ID: check.ID } }).queryKey, answer),
  })
  const isPulling = step?.State === "pulling" || (check.Pulling && step?.State === undefined)
  if (isPulling)
    return (
      <div className="stack" role="status">
        <span>{images.pulling}</span>
        {step?.Progress && <ProgressLine progress={step.Progress} />}
      </div>
    )
  const reason = step?.State === "failed" ? step.Reason : null
  return (
    <>
      {reason && (
        <Note tone="bad" role="alert">
          <div className="grow">
            <strong>{images.pullFailed}</strong>
            <p>{toSentence(reason.msg)}</p>
            {reason.hint && <p>{toSentence(reason.hint)}</p>}
          </div>
        </Note>
      )}
      {pull.error && <ErrorState error={pull.error} />}
      {canPull && (
        <div className="row">
          <Button icon="download" isBusy={pull.isPending} onClick={() => pull.mutate()}>
            {check.Present ? images.pullAgain : images.pull}
          </Button>
        </div>
      )}
    </>
  )
}
