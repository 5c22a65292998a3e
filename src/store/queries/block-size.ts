/** IDs per block, for the counters of lists and the versions of searched rows. */
export const blockSize = 4096
