import { at, faults } from "./mutant.ts"

const reflector = ["src/engine/kubernetes/client/reflector.test.ts"]
const feed = ["src/engine/kubernetes/pods/pod-events.test.ts"]
const pods = ["src/engine/kubernetes/pods/pod-state.test.ts"]

/** The copy of a cluster's objects, and what it tells of runs. */
export const kubernetes = [
  ...faults("src/engine/kubernetes/client/reflector.ts", reflector, [
    ["a forgotten point is watched for ever", at("Reflector.#watch", "statusCode === goneStatus"), "statusCode === 0"],
    ["an ended watch of a forgotten point goes on", at("Reflector.#receive", "this.#version = undefined\n"), "\n"],
    ["a restored database is not noticed", at("Reflector.#run", "if (!isConnected) this.#version = undefined"), ""],
    ["after each loss everything is listed again", at("Reflector.#run", "if (!isConnected) "), ""],
    ["a list keeps what was deleted meanwhile", at("Reflector.#list", "this.#items.clear()"), ""],
    ["a deletion is not seen", at("Reflector.#receive", 'this.#items.remove(item.metadata?.name ?? "")'), "[]"],
  ]),
  ...faults("src/engine/kubernetes/client/grouped-items.ts", reflector, [
    ["an object stays in the group that it left", at("GroupedItems.remove", "members?.delete(name)"), ""],
    [
      "the group that an object left hears nothing",
      at("GroupedItems.set", "const changed = this.remove(name)"),
      "this.remove(name)\n    const changed: string[] = []",
    ],
  ]),
  ...faults("src/engine/kubernetes/pods/pod-events.ts", feed, [
    ["each start has a watch of its own", at("EventFeed.follow", "this.#reflector ??= this.#open()"), "this.#reflector = this.#open()"],
    ["the watch of events never ends", at("EventFeed.#leave", "() => this.#close(),"), "() => {},"],
    ["the watch ends although another start came", at("EventFeed.follow", "this.#linger.abort()"), ""],
    [
      "a start waits for events that nobody gives",
      at("EventFeed.#untilWatched", "await Promise.race([reflector.items(settled.signal), late])"),
      "await reflector.items(settled.signal)",
    ],
  ]),
  ...faults("src/engine/kubernetes/pods/pod-state.ts", pods, [
    ["a run of a lost node runs for ever", at("stateOf", "isGivenUp || "), ""],
    ["an evicted run is gone without a reason", at("isGone", " && !wasDisrupted(pod)"), ""],
    ["an old observation is kept", at("ObservedRuns.of", "kept.pods.every((pod, n) => pod === pods[n])"), "true"],
  ]),
]
