import { monthBeginOf } from '#accounts/windows';
import type { ConsolePorts } from '#console/app/ports';
import type { Visit } from '#console/app/visit';
import { networkOf } from '#edge/callers/refused-addresses';
import {
  EngineReads,
  type HistoryEntry,
  type ListedCycles,
  PAGE_ROWS_MAX,
} from '#edge/serve/engine-reads';
import { Fault, toFault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import { forEachConcurrently } from '#platform/for-each-concurrently';
import { putNewest } from '#platform/put-newest';

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

/** Reads of one search: halving finds any of 2^53 observations with fewer, but for its first two. */
const READS_MAX = 60;

/** Searches of an instance that is reset or trimmed meanwhile; each is over in milliseconds. Chosen. */
const TRIES_MAX = 3;

/** The observation with `offset` newer ones; undefined: there is none that can be read. */
type ReadAt = (offset: number) => Promise<HistoryEntry | undefined>;

/**
 * How many observations of an instance's present generation have their own time at or after `sinceMs`
 * (Unix milliseconds) and can be read. Times rise within a generation (interface 8.3), so halving
 * finds the first of them. Rejects as `readAt` does.
 */
export async function cyclesSince(sinceMs: number, readAt: ReadAt): Promise<number> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const found = await searched(sinceMs, readAt);
    if (found !== undefined) return found;
  }
  // It is reset faster than it is read: nothing of it lasts.
  return 0;
}

/** Undefined: the generation that it began with is over, or was trimmed. */
async function searched(sinceMs: number, readAt: ReadAt): Promise<number | undefined> {
  const first = await readAt(0);
  if (first === undefined || first.timestampMs < sinceMs) return 0;
  let newest = first.cycle;
  let inside = first.cycle;
  // What cannot be read any more counts as before.
  let before = first.cycle - first.total;
  // Most instances are younger than the month or have all of it before: so the oldest is read first.
  let wanted = before + 1;
  for (let reads = 1; inside - before > 1; reads += 1) {
    const offset = newest - wanted;
    const entry = reads < READS_MAX ? await readAt(offset) : undefined;
    if (entry === undefined || entry.cycle + offset < newest) return undefined;
    // Observations that came meanwhile move what an offset leads to.
    newest = entry.cycle + offset;
    if (entry.timestampMs < sinceMs) before = Math.max(before, entry.cycle);
    else inside = Math.min(inside, entry.cycle);
    wanted = before + Math.floor((inside - before) / 2);
  }
  return newest - before;
}

/** What was found, most cycles first and equal ones by id, and whether no other one has more. */
type MostUsed = { readonly rows: readonly ListedCycles[]; readonly isComplete: boolean };

/** How it is found. */
type Search = {
  /** Instances that are wanted. */
  readonly count: number;
  /** Instances that are asked for at a time. */
  readonly atOnce: number;
  /** How many are asked for whatever their cycles in all: those may be a little old. */
  readonly surely: number;
};

/**
 * The `count` instances with the most cycles of a part of their time, out of their cycles in all,
 * which that part is never more than. `cyclesOf` says how many an instance has in that part, or
 * undefined once no more may be asked. The largest in all are asked first, until none that is left can
 * be among the most used any more: Fagin's threshold algorithm, with one list. Rejects as `cyclesOf`
 * does, and asks for no further one then.
 */
export async function mostUsed(
  instances: readonly ListedCycles[],
  cyclesOf: (instance: ListedCycles) => Promise<number | undefined>,
  { count, atOnce, surely }: Search,
): Promise<MostUsed> {
  const queue = instances.toSorted(mostFirst).entries();
  let rows: readonly ListedCycles[] = [];
  let isOver = false;
  let isComplete = true;

  const canStillCount = (instance: ListedCycles): boolean => {
    const last = rows[count - 1];
    return instance.cycles > 0 && (last === undefined || mostFirst(instance, last) < 0);
  };
  const ask = async (instance: ListedCycles): Promise<void> => {
    const cycles = await cyclesOf(instance);
    if (cycles === undefined) isComplete = false;
    else if (cycles > 0) rows = [...rows, { ...instance, cycles }].sort(mostFirst).slice(0, count);
  };
  const worker = async (): Promise<void> => {
    try {
      for (const [index, instance] of queue) {
        const isWanted = index < surely || canStillCount(instance);
        if (isOver || !isComplete || !isWanted) return;
        await ask(instance);
      }
    } catch (error) {
      isOver = true;
      throw error;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return { rows, isComplete };
}

function mostFirst(a: ListedCycles, b: ListedCycles): number {
  if (a.cycles !== b.cycles) return b.cycles - a.cycles;
  return a.id < b.id ? -1 : 1;
}

/** How long requests are counted together, in milliseconds. */
const WINDOW_MS = 60_000;

/** Sources counted by one console; the oldest is forgotten first. About 2 MB. */
const SOURCES_MAX = 10_000;

/** Requests of each kind in a minute. Chosen: far above what a person at a page makes. */
const LIMITS = {
  /** Of one network, without a session: signing in, links. */
  open: 120,
  /** Of one user: reading. */
  read: 300,
  /** Of one user: changing. */
  change: 60,
  /** Of one account: what asks the payment provider, or reads much and answers a file. */
  costly: 10,
} as const;

type Kind = keyof typeof LIMITS;

/** Requests of one source in the window that began at a monotonic time. */
type Counted = { readonly beganMs: number; readonly count: number };

/** How a route counts. */
type RouteRate = {
  readonly method: string;
  /** Whether the route asks the payment provider, or answers a file of much. */
  readonly isCostly?: boolean;
};

/**
 * Requests a minute of the console's own routes. Calls of instances count as requests of their account
 * instead. Of this process only: n consoles allow n times as much.
 */
export class RequestRates {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #counted = new Map<string, Counted>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Counts a request without a session. Throws `rate_limited` beyond the limit of its network. */
  countOpen({ address }: Visit): void {
    this.#count('open', networkOf(address).name);
  }

  /** Counts a request of a member. Throws `rate_limited` beyond a limit of the user or the account. */
  countOf({ userId, accountId }: { userId: string; accountId: string }, route: RouteRate): void {
    if (route.isCostly === true) this.#count('costly', accountId);
    this.#count(route.method === 'GET' ? 'read' : 'change', userId);
  }

  #count(kind: Kind, source: string): void {
    const name = `${kind} ${source}`;
    const nowMs = this.#clock.monotonicMs();
    const known = this.#counted.get(name);
    const isRunning = known !== undefined && nowMs - known.beganMs < WINDOW_MS;
    const { beganMs, count } = isRunning ? known : { beganMs: nowMs, count: 0 };
    if (count >= LIMITS[kind]) {
      const retryAfterS = Math.max(1, Math.ceil((beganMs + WINDOW_MS - nowMs) / 1_000));
      throw new Fault('rate_limited', 'too many requests: wait a little', { retryAfterS });
    }
    putNewest(this.#counted, name, { beganMs, count: count + 1 }, SOURCES_MAX);
  }
}
