import { Link } from "@tanstack/react-router"
import type { ReactNode } from "react"
import type { RunningProject } from "#contract"
import { formatMemory } from "../../api/formats.ts"
import { projectName, projectOf } from "../../api/run-names.ts"
import { DescriptionList } from "../../components/page.tsx"
import { CopyableText, RelativeTime } from "../../components/values.tsx"
import { texts } from "../../text/index.ts"
import { TimeHint } from "./end-warnings.tsx"

/** The record of a run: person, times, image, resources. */
export function RunDetails({ run }: { run: RunningProject }) {
  const { run: labels } = texts
  return (
    <DescriptionList
      entries={[
        [
          labels.project,
          <Link key="project" to="/projects/$id" params={{ id: run.ProjectID }}>
            {projectName(run)}
          </Link>,
        ],
        [labels.startedBy, run.UserName],
        [labels.address, run.URL && <CopyableText text={run.URL} />],
        [labels.image, imageOf(run)],
        [labels.digest, run.ImageDigest && <CopyableText text={run.ImageDigest} />],
        [labels.registryDigest, run.RegistryDigest && <CopyableText text={run.RegistryDigest} />],
        [labels.resources, resourcesOf(run)],
        [labels.nodes, run.NodeNames.join(", ")],
        [labels.devices, run.GpuDevices.join(", ")],
        [labels.home, run.Home && <CopyableText text={run.Home} />],
        [labels.startTime, run.StartTime && <RelativeTime value={run.StartTime} />],
        [labels.readyTime, run.ReadyTime && <RelativeTime value={run.ReadyTime} />],
        [labels.lastActivity, run.LastActivity && <RelativeTime value={run.LastActivity} />],
        [labels.expires, run.ExpiresAt && <LatestEnd run={run} />],
        [labels.endTime, run.EndTime && <RelativeTime value={run.EndTime} />],
      ]}
    />
  )
}

function LatestEnd({ run }: { run: RunningProject }) {
  return (
    <span>
      <RelativeTime value={run.ExpiresAt} />
      {run.EndTime === null && (
        <span className="small quiet">
          . <TimeHint run={run} />
        </span>
      )}
    </span>
  )
}

function imageOf(run: RunningProject): ReactNode {
  const image = projectOf(run)?.Image
  if (!image || !("Image" in image)) return undefined
  return (
    <>
      <Link to="/images/$id" params={{ id: image.ID }}>
        {image.Name}
      </Link>
      <CopyableText text={image.Image} />
    </>
  )
}

function resourcesOf({ Cpus, Memory, Gpus, GpuMemory }: RunningProject): string {
  const { cpu, memory, gpus } = texts.run
  const parts = [`${Cpus} ${cpu}`, `${formatMemory(Memory)} ${memory.toLowerCase()}`]
  if (Gpus > 0) parts.push(`${Gpus} ${gpus}${GpuMemory > 0 ? ` (${formatMemory(GpuMemory)})` : ""}`)
  return parts.join(", ")
}
