import { Link } from "@tanstack/react-router"
import type { ReactNode } from "react"
import type { RunningProject } from "#contract"
import { formatMemory } from "../../api/formats.ts"
import { projectName, projectOf } from "../../api/run-names.ts"
import { DescriptionList } from "../../components/page.tsx"
import { CopyableText, Time } from "../../components/values.tsx"
import { texts } from "../../text/index.ts"
import { TimeHint } from "./end-warnings.tsx"

/** The record of a run: person, times, image, resources. */
export function RunDetails({ run }: { run: RunningProject }) {
  const { run: words } = texts
  return (
    <DescriptionList
      entries={[
        [
          words.project,
          <Link key="project" to="/projects/$id" params={{ id: run.ProjectID }}>
            {projectName(run)}
          </Link>,
        ],
        [words.startedBy, run.UserName],
        [words.address, run.URL && <CopyableText text={run.URL} />],
        [words.image, imageOf(run)],
        [words.digest, run.ImageDigest && <CopyableText text={run.ImageDigest} />],
        [words.registryDigest, run.RegistryDigest && <CopyableText text={run.RegistryDigest} />],
        [words.resources, resourcesOf(run)],
        [words.nodes, run.NodeNames.join(", ")],
        [words.devices, run.GpuDevices.join(", ")],
        [words.home, run.Home && <CopyableText text={run.Home} />],
        [words.startTime, run.StartTime && <Time value={run.StartTime} />],
        [words.readyTime, run.ReadyTime && <Time value={run.ReadyTime} />],
        [words.lastActivity, run.LastActivity && <Time value={run.LastActivity} />],
        [words.expires, run.ExpiresAt && <LatestEnd run={run} />],
        [words.endTime, run.EndTime && <Time value={run.EndTime} />],
      ]}
    />
  )
}

function LatestEnd({ run }: { run: RunningProject }) {
  return (
    <span>
      <Time value={run.ExpiresAt} />
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
