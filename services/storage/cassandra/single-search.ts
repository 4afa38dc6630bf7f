import type { Client } from 'cassandra-driver';

/** What the driver keeps to itself of how it finds servers. Version 4.10.0, which is pinned. */
type ControlConnection = { _refresh: (hostsLeft?: unknown) => Promise<void> };

/** Pause before a search that has failed in an unforeseen way is made again, in milliseconds. */
const SEARCH_AGAIN_MS = 500;

/**
 * Makes the driver search for servers once at a time. After an outage two searches may run side by
 * side and take each other's connection away: then one connection stays open for ever, or the search
 * rejects in a timer of the driver's own, which ends the process. Throws an Error for a driver that
 * is made otherwise.
 */
export function searchOnceAtATime(client: Client): void {
  const control: ControlConnection | undefined = Reflect.get(client, 'controlConnection');
  if (typeof control?._refresh !== 'function') {
    throw new Error('this Cassandra driver finds its servers in another way: see single-search.ts');
  }
  const refresh = control._refresh.bind(control);
  let search: Promise<void> | undefined;
  control._refresh = (hostsLeft) => {
    // A search goes on with the servers that it has left by calling itself.
    if (hostsLeft !== undefined) return refresh(hostsLeft);
    search ??= refresh()
      .catch(() => {
        // When the session is closed meanwhile the next search ends at once.
        setTimeout(() => void control._refresh(), SEARCH_AGAIN_MS).unref();
      })
      .finally(() => {
        search = undefined;
      });
    return search;
  };
}
