import type Dockerode from "dockerode"
import type { AbortOption, DockerApi } from "../client/docker-client.ts"

/**
 * dockerode would send all that a container is made from in the address of the request as well,
 * where what is long is refused, and where the daemon's log has it: variables, and so people's
 * secrets.
 */
export function createContainer(
  docker: DockerApi,
  { name, ...body }: Dockerode.ContainerCreateOptions & { name: string },
  abort: AbortOption,
): Promise<Dockerode.Container> {
  return docker.createContainer({ _query: { name }, _body: body, ...abort } as Dockerode.ContainerCreateOptions)
}
