/** IDs to a block, as the counters of lists and the versions of searched rows are kept. */
export const blockSize = 4096
