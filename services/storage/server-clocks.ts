/** The clocks of the servers that keep the data. */
export interface ServerClocks {
  /**
   * What each server that is up shows, in Unix milliseconds. Rejects with `service_unavailable` when
   * no answer comes in time.
   */
  read(): Promise<readonly number[]>;
}
