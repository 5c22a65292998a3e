import type DockerModem from "docker-modem"
import type Dockerode from "dockerode"

/** An abort signal in the form that dockerode's options expect. */
export interface AbortOption {
  abortSignal?: AbortSignal
}

export interface DaemonInfo {
  Name: string
  NCPU: number
  MemTotal: number
  LiveRestoreEnabled?: boolean
  /** A directory on the daemon's host. */
  DockerRootDir: string
  /** The storage driver. */
  Driver?: string
  DriverStatus?: [string, string][]
}

/**
 * The daemon's API by dockerode's parts. Its main module also loads gRPC and Protocol Buffers for
 * builds, which are not used here: 12 MiB in each process.
 */
export interface DockerApi {
  readonly modem: DockerModem
  ping(options: AbortOption): Promise<unknown>
  info(options: AbortOption): Promise<DaemonInfo>
  getEvents(options: AbortOption & { filters: object }): Promise<NodeJS.ReadableStream>
  pull(reference: string, options: AbortOption & { authconfig?: object }): Promise<NodeJS.ReadableStream>
  listContainers(options: AbortOption & Dockerode.ContainerListOptions): Promise<Dockerode.ContainerInfo[]>
  listImages(options: AbortOption): Promise<Dockerode.ImageInfo[]>
  listNetworks(options: AbortOption & { filters: object }): Promise<Dockerode.NetworkInspectInfo[]>
  /**
   * With all options in the request's body. dockerode would also put them into the URL: long ones
   * are rejected there, and people's secret variables would reach the daemon's log.
   */
  createContainer(body: Dockerode.ContainerCreateOptions & { name: string }, options: AbortOption): Promise<Dockerode.Container>
  createNetwork(body: Dockerode.NetworkCreateOptions, options: AbortOption): Promise<unknown>
  getContainer(id: string): Dockerode.Container
  getExec(id: string): Dockerode.Exec
  getImage(name: string): Dockerode.Image
  getNetwork(id: string): Dockerode.Network
}

/** Every option is set, so that none comes from `DOCKER_*`. */
export async function loadDockerApi(options: DockerModem.ConstructorOptions): Promise<DockerApi> {
  const [{ default: Modem }, { default: Container }, { default: Exec }, { default: Image }, { default: Network }] = await Promise.all([
    import("docker-modem"),
    import("dockerode/lib/container.js"),
    import("dockerode/lib/exec.js"),
    import("dockerode/lib/image.js"),
    import("dockerode/lib/network.js"),
  ])
  const modem = new Modem({ ...options, ...({ host: undefined, port: undefined, timeout: undefined } as object) })
  modem.Promise = Promise
  const send = <T>(request: DockerModem.DialOptions): Promise<T> => dial(modem, request) as Promise<T>
  const get = <T>(path: string, { abortSignal, ...query }: AbortOption & object, isStream = false): Promise<T> =>
    send({ path: `${path}?`, method: "GET", options: query, isStream, ...(abortSignal && { abortSignal }) })
  const post = <T>(path: string, options: { _query: object; _body: object }, more: Partial<DockerModem.DialOptions>): Promise<T> =>
    send({ path: `${path}?`, method: "POST", options, ...more })
  const getContainer = (id: string) => new Container(modem, id) as Dockerode.Container
  return {
    modem,
    ping: (options) => get("/_ping", options),
    info: (options) => get("/info", options),
    getEvents: (options) => get("/events", options, true),
    pull: (reference, more) => post("/images/create", { _query: imageQuery(reference), _body: {} }, { ...more, isStream: true }),
    listContainers: (options) => get("/containers/json", options),
    listImages: (options) => get("/images/json", options),
    listNetworks: (options) => get("/networks", options),
    async createContainer({ name, ...body }, options) {
      return getContainer((await post<{ Id: string }>("/containers/create", { _query: { name }, _body: body }, options)).Id)
    },
    createNetwork: (body, options) => post("/networks/create", { _query: {}, _body: body }, options),
    getContainer,
    getExec: (id) => new Exec(modem, id) as Dockerode.Exec,
    getImage: (name) => new Image(modem, name) as Dockerode.Image,
    getNetwork: (id) => new Network(modem, id) as Dockerode.Network,
  }
}

function dial(modem: DockerModem, request: DockerModem.DialOptions): Promise<unknown> {
  const statusCodes = { 200: true, 201: true }
  return new Promise((resolve, reject) => {
    modem.dial({ statusCodes, ...request }, (error, answer) => (error ? reject(error) : resolve(answer)))
  })
}

/** The tag or digest follows the last `:` or `@` of the last part: ports come earlier. */
function imageQuery(reference: string): { fromImage: string; tag: string } {
  const at = reference.includes("@") ? reference.indexOf("@") : reference.lastIndexOf(":")
  const isTagged = at > reference.lastIndexOf("/")
  return isTagged ? { fromImage: reference.slice(0, at), tag: reference.slice(at + 1) } : { fromImage: reference, tag: "latest" }
}
