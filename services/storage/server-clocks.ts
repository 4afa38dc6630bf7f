/** The clocks of the servers that keep the data. */
export interface ServerClocks {
  /**
   * What each server shows that is up and answers in time, in Unix milliseconds. Rejects with
   * `service_unavailable` when none can be asked.
   */
  read(): Promise<readonly number[]>;
}
