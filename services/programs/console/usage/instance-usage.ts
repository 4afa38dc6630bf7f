import { monthBeginOf } from '#accounts/quota-windows';
import type { ConsolePorts } from '#console/app/ports';
import type { Visit } from '#console/app/visit';
import { networkOf } from '#edge/callers/known-callers';
import {
  EngineReads,
  type HistoryEntry,
  type ListedCycles,
  PAGE_ROWS_MAX,
} from '#edge/serve/engine-reads';
import { Fault, toFault } from '#errors/fault';
import type { Clock } from '#stdlib/clock';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import { putNewest } from '#stdlib/hash-map';

/** Number of instances in the report. Source: decision 263. */
const SHOWN_MAX = 20;

/**
 * Maximum number of listed instances per account, newest first. Only listed instances are
 * inspected. Source: decision 263.
 */
const LISTED_MAX = 10_000;

/** Maximum concurrent engine calls per account. Comparable to the load of a few callers. */
const CALLS_IN_FLIGHT_MAX = 8;

/**
 * Number of instances that are always inspected. Cycles in the listing can be old by one checkpoint
 * (architecture 3.6), so they cannot exclude these instances. In smaller accounts, every instance
 * is inspected.
 */
const SURELY_LOOKED_AT = 100;

/**
 * Search time limit, in milliseconds. Shorter than the 15 s that a connection waits for an answer.
 */
const TIMEOUT_MS = 10_000;

/** Share of the time limit for the listing. The rest is for inspecting instances. */
const LISTING_SHARE = 0.5;

/** Instances of an account with the most cycles since a point in time. */
export type InstancesUsed = {
  /** At most 20 instances, sorted by descending cycles. Ties are sorted by id. */
  readonly instances: readonly ListedCycles[];
  /** Number of instances in the account. */
  readonly instancesTotal: number;
  /** Number of instances in the listing. The search read no other instances. */
  readonly instancesListed: number;
  /** Whether no unlisted instance has more cycles than a listed instance. */
  readonly isComplete: boolean;
};

/** Usage by instance in the account's present month. Times are Unix milliseconds. */
export type InstanceUsage = InstancesUsed & {
  /** Start of the UTC month. The limiter determines the month. */
  readonly monthBeginsAtMs: number;
  /** Time when the search ran. */
  readonly asOfMs: number;
  /** Cycles of the whole month, as counted by the limiter. */
  readonly cycles: number;
  /** Cycles of the month without the listed instances. Never negative. */
  readonly otherCycles: number;
};

/** Ports of the search. */
export type InstanceUsagePorts = Pick<ConsolePorts, 'engine' | 'clock' | 'usage'>;

/**
 * Finds the instances with the most cycles in the account's present month. The engines' records are
 * the source: cycles of the present generation, by observation time. The account is not charged.
 *
 * Rejects with engine and limiter errors. A search that takes too long stops with `isComplete`
 * false. Source: decision 263.
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
 * Finds the instances with the most cycles at or after `sinceMs` (Unix milliseconds) within
 * `timeoutMs`. After the timeout, the search returns the instances found so far. Rejects with
 * engine errors.
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

/** Lists up to `LISTED_MAX` instances within the listing's share of the time. */
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

/**
 * Returns the cycles of an instance since `sinceMs`. Returns undefined if no time is left, and 0 if
 * the instance was deleted during the search.
 */
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

/** Maximum reads in one binary search. A history of 2^53 observations needs fewer reads. */
const READS_MAX = 60;

/**
 * Maximum number of searches per instance. If a reset or a trim interrupts a search, the search is
 * repeated. A search takes milliseconds.
 */
const ATTEMPTS_MAX = 3;

/** Reads the observation at `offset` from the newest (0: the newest); undefined if none exists. */
type ReadAt = (offset: number) => Promise<HistoryEntry | undefined>;

/**
 * Counts the readable observations of the present generation at or after `sinceMs` (Unix
 * milliseconds). Times rise within a generation (interface 8.3), so a binary search finds the first
 * such observation. Rejects with `readAt` errors.
 */
export async function cyclesSince(sinceMs: number, readAt: ReadAt): Promise<number> {
  for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts += 1) {
    const found = await searched(sinceMs, readAt);
    if (found !== undefined) return found;
  }
  // A reset or a trim interrupted every search. The instance is reported without cycles.
  return 0;
}

/** Runs one binary search. Returns undefined if a reset or a trim interrupted the search. */
async function searched(sinceMs: number, readAt: ReadAt): Promise<number | undefined> {
  const first = await readAt(0);
  if (first === undefined || first.timestampMs < sinceMs) return 0;
  let newest = first.cycle;
  let inside = first.cycle;
  // Trimmed observations are treated as older than `sinceMs`.
  let before = first.cycle - first.total;
  // The oldest observation is read first: most instances have all cycles on one side of `sinceMs`.
  let wanted = before + 1;
  for (let reads = 1; inside - before > 1; reads += 1) {
    const offset = newest - wanted;
    const entry = reads < READS_MAX ? await readAt(offset) : undefined;
    if (entry === undefined || entry.cycle + offset < newest) return undefined;
    // New observations shift the offsets.
    newest = entry.cycle + offset;
    if (entry.timestampMs < sinceMs) before = Math.max(before, entry.cycle);
    else inside = Math.min(inside, entry.cycle);
    wanted = before + Math.floor((inside - before) / 2);
  }
  return newest - before;
}

/**
 * Rows by descending cycles, ties by id. If `isComplete` is true, no other instance has more
 * cycles.
 */
type MostUsed = { readonly rows: readonly ListedCycles[]; readonly isComplete: boolean };

/** Parameters of the search. */
type Search = {
  /** Number of instances to find. */
  readonly count: number;
  /** Maximum concurrent calls. */
  readonly atOnce: number;
  /** Number of instances inspected regardless of their total cycles, which can be slightly old. */
  readonly surely: number;
};

/**
 * Finds the `count` instances with the most cycles in a period. An instance's total is an upper
 * bound for the period. `cyclesOf` returns an instance's cycles in the period, or undefined if no
 * more calls are allowed.
 *
 * Instances are inspected by descending total until no remaining instance can be among the top
 * (Fagin's threshold algorithm with one list). After an error of `cyclesOf`, starts no further
 * calls and rejects with this error.
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

/** Length of a rate limit window, in milliseconds. */
const WINDOW_MS = 60_000;

/**
 * Maximum number of sources that one console counts, about 2 MB. The oldest source is evicted
 * first.
 */
const SOURCES_MAX = 10_000;

/** Maximum requests per minute, by kind. Far more than a person at a page needs. */
const LIMITS = {
  /** Per network, without a session: sign-ins and links. */
  open: 120,
  /** Per user: reads. */
  read: 300,
  /** Per user: changes. */
  change: 60,
  /** Per account: calls of the payment provider, and exports. */
  costly: 10,
} as const;

type Kind = keyof typeof LIMITS;

/** Requests of one source in the window that began at `beganMs` (monotonic). */
type Counted = { readonly beganMs: number; readonly count: number };

/** Route properties that select its limits. */
type RouteRate = {
  readonly method: string;
  /** Whether the route calls the payment provider or exports much data. */
  readonly isCostly?: boolean;
};

/**
 * Rate limits of the console's own routes. Instance calls are not counted here: the limiter counts
 * them as API requests of the account. Counts are per process: n consoles allow n times as many
 * requests.
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

  /**
   * Counts a request of a member. Throws `rate_limited` beyond the limit of the user or account.
   */
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
      throw new Fault('rate_limited', 'too many requests', { retryAfterS });
    }
    putNewest(this.#counted, name, { beganMs, count: count + 1 }, SOURCES_MAX);
  }
}
