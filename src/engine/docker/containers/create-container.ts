import type Dockerode from "dockerode"
import type { AbortOption, DockerApi } from "../client/docker-client.ts"

/**
 * Creates a container with all options in the request's body. dockerode would also put them into
 * the URL: long ones are rejected there, and people's secret variables would reach the daemon's
 * log.
 */
export function createContainer(
  docker: DockerApi,
  { name, ...body }: Dockerode.ContainerCreateOptions & { name: string },
  abort: AbortOption,
): Promise<Dockerode.Container> {
  return docker.createContainer({ _query: { name }, _body: body, ...abort } as Dockerode.ContainerCreateOptions)
}
