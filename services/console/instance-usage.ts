import { monthBeginOf } from '#accounts/month';
import type { ConsolePorts } from '#console/console-ports';
import { cyclesSince } from '#console/cycles-since';
import { mostUsed } from '#console/most-used';
import { EngineReads, type ListedCycles, PAGE_ROWS_MAX } from '#edge/engine-reads';
import { toFault } from '#fault/fault';
import { forEachConcurrently } from '#platform/for-each-concurrently';

/** Instances that are shown. Source: decision 263. */
const SHOWN_MAX = 20;

/** Instances of an account that are looked at, those created last. Source: decision 263. */
const LISTED_MAX = 10_000;

/** Calls of engines at once for one account: what a handful of callers send. Chosen. */
const CALLS_IN_FLIGHT_MAX = 8;

/**
 * Instances that are looked at whatever the listing says of their cycles, which may be a checkpoint
 * old where an engine was slow (architecture 3.6): so the smaller accounts have all of theirs looked
 * at. Chosen.
 */
const SURELY_LOOKED_AT = 100;

/** How long it may take, in milliseconds: less than a connection waits for an answer (15 s). */
const TIMEOUT_MS = 10_000;

/** How much of that the listing may take, so that there is time to look at what it has. Chosen. */
const LISTING_SHARE = 0.5;

/** Which instances of an account have the most cycles since some time. */
export type InstancesUsed = {
  /** At most 20, the most cycles first; equal ones by id. */
  readonly instances: readonly ListedCycles[];
  /** How many instances the account has, and how many of them were looked at. */
  readonly instancesTotal: number;
  readonly instancesListed: number;
  /** Whether no instance that is not shown has more cycles than one that is. */
  readonly isComplete: boolean;
};

/** The present month of an account by instance. Times are Unix milliseconds. */
export type InstanceUsage = InstancesUsed & {
  /** When the UTC month begins; the limiter says which one it is. */
  readonly monthBeginsAtMs: number;
  /** When this was found. */
  readonly asOfMs: number;
  /** Of the whole month, as the limiter counts them. */
  readonly cycles: number;
  /** What the month has besides those of the instances; never negative. */
  readonly otherCycles: number;
};

/** What it is found by. */
export type InstanceUsagePorts = Pick<ConsolePorts, 'engine' | 'clock' | 'usage'>;

/**
 * Which instances used most of an account's present month, from the engines' own records: cycles of the
 * present generation by the time of their observations. Costs the account nothing. Rejects as engines
 * and limiter do; what takes too long is cut and says so. Source: decision 263.
 */
export async function instanceUsage(
  ports: InstanceUsagePorts,
  accountId: string,
): Promise<InstanceUsage> {
  const reads = new EngineReads(ports, accountId, TIMEOUT_MS);
  const { monthResetAtS, cyclesUsed } = await ports.usage.usage(accountId);
  const monthBeginsAtMs = monthBeginOf(monthResetAtS * 1_000);
  const found = await foundBy(reads, monthBeginsAtMs);
  const shown = found.instances.reduce((sum, { cycles }) => sum + cycles, 0);
  return {
    ...found,
    ...{ monthBeginsAtMs, asOfMs: ports.clock.wallMs(), cycles: cyclesUsed },
    otherCycles: Math.max(0, cyclesUsed - shown),
  };
}

/**
 * The instances of an account with the most cycles at or after `sinceMs`, found within `timeoutMs`, as
 * far as that goes. Rejects as engines do.
 */
export async function instancesUsed(
  ports: Pick<ConsolePorts, 'engine' | 'clock'>,
  accountId: string,
  { sinceMs, timeoutMs }: { readonly sinceMs: number; readonly timeoutMs: number },
): Promise<InstancesUsed> {
  return await foundBy(new EngineReads(ports, accountId, timeoutMs), sinceMs);
}

async function foundBy(reads: EngineReads, sinceMs: number): Promise<InstancesUsed> {
  const { listed, total } = await listedInstances(reads);
  const cyclesOf = ({ id }: ListedCycles) => cyclesOfOne(reads, id, sinceMs);
  const found = await mostUsed(listed, cyclesOf, {
    ...{ count: SHOWN_MAX, atOnce: CALLS_IN_FLIGHT_MAX, surely: SURELY_LOOKED_AT },
  });
  return {
    instances: found.rows,
    instancesTotal: total,
    instancesListed: listed.length,
    isComplete: found.isComplete && listed.length >= total,
  };
}

/** As many as may be looked at and there is time to list. */
async function listedInstances(reads: EngineReads) {
  const first = await reads.list(0);
  const byId = new Map(first.rows.map((row) => [row.id, row]));
  const offsets: number[] = [];
  for (let offset = PAGE_ROWS_MAX; offset < Math.min(first.total, LISTED_MAX); ) {
    offsets.push(offset);
    offset += PAGE_ROWS_MAX;
  }
  const endMs = reads.leftMs * (1 - LISTING_SHARE);
  await forEachConcurrently(offsets, CALLS_IN_FLIGHT_MAX, async (offset) => {
    if (reads.leftMs <= endMs) return;
    const page = await reads.list(offset);
    for (const row of page.rows) byId.set(row.id, row);
  });
  return { listed: [...byId.values()], total: first.total };
}

/** Undefined: there is no time left. An instance that was deleted meanwhile has no cycles. */
async function cyclesOfOne(
  reads: EngineReads,
  instanceId: string,
  sinceMs: number,
): Promise<number | undefined> {
  if (reads.leftMs === 0) return undefined;
  try {
    return await cyclesSince(sinceMs, (offset) => reads.observation(instanceId, offset));
  } catch (error) {
    if (toFault(error).code === 'not_found') return 0;
    if (reads.leftMs === 0) return undefined;
    throw error;
  }
}
