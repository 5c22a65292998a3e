import { readFile } from "node:fs/promises"
import type { CoreV1Api, KubeConfig, NetworkingV1Api, ObservableMiddleware } from "@kubernetes/client-node"
import { bounds } from "#contract"
import { deadline, OwnerQueue } from "#kit"
import { EngineError } from "../../engine.ts"
import type { KubernetesOptions } from "../kubernetes-options.ts"
import { httpStatusOf, toEngineError } from "./errors.ts"
import { shareConnections } from "./shared-connections.ts"

type Library = typeof import("@kubernetes/client-node")
type CallSettings = NonNullable<Parameters<CoreV1Api["readNamespacedPod"]>[1]>

const { engineStarts, engineStartsOfPerson, engineStops, engineStopsOfPerson } = bounds.containers

/** The name under which fields of objects are managed. */
const fieldManager = "quayside"
const defaultTimeoutMs = 15_000
/** Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-representations */
const metadataType = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
/** The kubelet writes the namespace of a pod's service account to this file. */
const ownNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

export interface CallOptions {
  signal?: AbortSignal | undefined
  /** Default 15,000. */
  timeoutMs?: number
  /**
   * Whether the answer has nothing but the object's metadata: the rest of a pod costs both ends
   * more than all else in a call. Default false.
   */
  onlyMetadata?: boolean
  /** The person's share of the calls at a time in which it counts. Default: none. */
  turn?: CallTurn | undefined
}

/** A call that creates or removes something of this person's runs; `""` if nobody is known. */
export interface CallTurn {
  kind: "create" | "remove"
  owner: string
}

/** Calls to the API server. Every failure is an `EngineError`. */
export class ClusterClient {
  readonly config: KubeConfig
  readonly namespace: string
  readonly library: Library
  /** Dozens of runs of one person, each with hundreds of pods, must not occupy the API server. */
  readonly #queues: Readonly<Record<CallTurn["kind"], OwnerQueue>> = {
    create: new OwnerQueue(engineStarts.value, engineStartsOfPerson.value),
    remove: new OwnerQueue(engineStops.value, engineStopsOfPerson.value),
  }
  readonly #core: CoreV1Api
  readonly #networking: NetworkingV1Api

  constructor(library: Library, config: KubeConfig, namespace: string) {
    this.library = library
    this.config = config
    this.namespace = namespace
    this.#core = config.makeApiClient(library.CoreV1Api)
    this.#networking = config.makeApiClient(library.NetworkingV1Api)
  }

  /** Loads the library and the kubeconfig. Nothing is sent. */
  static async create(options: Pick<KubernetesOptions, "kubeconfig" | "context" | "namespace">): Promise<ClusterClient> {
    const library = await import("@kubernetes/client-node")
    const config = loadConfig(new library.KubeConfig(), options)
    shareConnections(config)
    const own = await ownNamespace()
    const context = config.getContextObject(config.getCurrentContext())
    return new ClusterClient(library, config, options.namespace ?? context?.namespace ?? own ?? "default")
  }

  /** `what` completes "The cluster refused to …". */
  async core<T>(what: string, send: (api: CoreV1Api, settings: CallSettings) => Promise<T>, options: CallOptions = {}): Promise<T> {
    return this.#call(what, (settings) => send(this.#core, settings), options)
  }

  /** Creates an object, or changes the fields of it that Quayside manages. */
  async apply<T>(
    what: string,
    send: (api: { core: CoreV1Api; networking: NetworkingV1Api }, fields: ApplyFields, settings: CallSettings) => Promise<T>,
    options: CallOptions = {},
  ): Promise<T> {
    const { setHeaderOptions, PatchStrategy } = this.library
    const apis = { core: this.#core, networking: this.#networking }
    const fields = { namespace: this.namespace, fieldManager, force: true }
    return this.#call(
      what,
      (settings) => send(apis, fields, setHeaderOptions("Content-Type", PatchStrategy.ServerSideApply, settings)),
      options,
    )
  }

  async #call<T>(
    what: string,
    send: (settings: CallSettings) => Promise<T>,
    { signal, timeoutMs = defaultTimeoutMs, onlyMetadata = false, turn }: CallOptions,
  ): Promise<T> {
    signal?.throwIfAborted()
    using _turn = turn && (await this.#queues[turn.kind].acquire(turn.owner, signal))
    using late = deadline(timeoutMs, "The API server", signal)
    try {
      return await send({ middleware: [this.#prepare(late, onlyMetadata)], middlewareMergeStrategy: "append" })
    } catch (error) {
      signal?.throwIfAborted()
      throw toEngineError(error, what)
    }
  }

  #prepare(signal: AbortSignal, onlyMetadata: boolean): ObservableMiddleware {
    const { Observable } = this.library
    return {
      pre(request) {
        request.setSignal(signal)
        if (onlyMetadata) request.setHeaderParam("Accept", metadataType)
        return new Observable(Promise.resolve(request))
      },
      post: (response) => new Observable(Promise.resolve(response)),
    }
  }
}

interface ApplyFields {
  namespace: string
  fieldManager: string
  force: boolean
}

/** Undefined if the object does not exist. */
export async function undefinedIfMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (error instanceof EngineError && httpStatusOf(error.cause) === 404) return undefined
    throw error
  }
}

function loadConfig(config: KubeConfig, { kubeconfig, context }: Pick<KubernetesOptions, "kubeconfig" | "context">): KubeConfig {
  try {
    if (kubeconfig === undefined) config.loadFromDefault()
    else config.loadFromFile(kubeconfig)
    if (context !== undefined) config.setCurrentContext(context)
  } catch (cause) {
    throw new EngineError("engine_error", `The kubeconfig ${kubeconfig ?? "of this account"} cannot be read`, {
      detail: String(cause),
      cause,
    })
  }
  if (config.getCurrentCluster()) return config
  const names = config.getContexts().map(({ name }) => name)
  const known = names.length > 0 ? `; it has ${names.join(", ")}` : ""
  throw new EngineError("engine_error", `The kubeconfig has no context ${JSON.stringify(config.getCurrentContext() ?? "")}${known}`)
}

function ownNamespace(): Promise<string | undefined> {
  return readFile(ownNamespaceFile, "utf8").then(
    (text) => text.trim() || undefined,
    () => undefined,
  )
}
