export {
  type HeldLease,
  type Lease,
  LeaseAcquirer,
  type LeasedTask,
  LeaseLostError,
  type LeaseTimes,
  LeaseWatch,
  permanentLease,
} from "./lease.ts"
