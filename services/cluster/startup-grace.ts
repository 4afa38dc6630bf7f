import { OUTAGE_GRACE_MS } from '#cluster/bounds';
import type { ShardRow } from '#storage/shard-store';

/** What a node that has just started knows of the others (decision 104). */
export type Startup = {
  /** When it started (monotonic), and how long it then listens, in milliseconds. */
  readonly startedMs: number;
  readonly startupGraceMs: number;
  readonly rows: ReadonlyMap<number, ShardRow>;
  /** The incarnations that are present, this one included. */
  readonly present: ReadonlySet<string>;
  readonly isSealed: (incarnation: string) => boolean;
};

/**
 * Whether a node that has just started has listened long enough to claim: at once when every owner is
 * heard or sealed and as many nodes are present as there are owners, because then it waits for none.
 */
export function isStartupOver(startup: Startup, nowMs: number): boolean {
  const sinceMs = nowMs - startup.startedMs;
  if (sinceMs >= startup.startupGraceMs) return true;
  return sinceMs >= OUTAGE_GRACE_MS && isComplete(startup);
}

function isComplete({ rows, present, isSealed }: Startup): boolean {
  const owners = [...new Set([...rows.values()].map(({ owner }) => owner))];
  if (owners.length === 0 || present.size < owners.length) return false;
  return owners.every((owner) => present.has(owner) || isSealed(owner));
}
