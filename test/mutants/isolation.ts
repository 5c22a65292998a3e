import { faults } from "./mutant.ts"

/** What keeps people apart on one machine: mounts, network, limits. */
export const isolation = [
  ...faults(
    "src/kit/beneath.ts",
    ["src/engine/docker/pins.test.ts"],
    [
      [
        "a link to a directory is followed",
        "constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW",
        "constants.O_RDONLY | constants.O_DIRECTORY",
      ],
    ],
  ),
]
