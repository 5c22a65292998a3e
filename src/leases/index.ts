export {
  type HeldLease,
  type Lease,
  type LeasedTask,
  LeaseKeeper,
  LeaseLostError,
  type LeaseTimes,
  LeaseWatch,
  soleLease,
} from "./lease.ts"
