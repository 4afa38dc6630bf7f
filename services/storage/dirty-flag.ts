/**
 * Remembers, beside the data of its only process and beyond that one's end, whether calls may have been
 * granted without a record. Methods reject with `service_unavailable` when nothing can be written.
 */
export interface DirtyFlag {
  /** Sets the flag, durably. Answers whether it was set: an earlier process has not cleared it. */
  set(): Promise<boolean>;
  /** Says that nothing of the kind still counts. */
  clear(): Promise<void>;
}
