import type { Limits } from '#accounts/plan';
import type { MeterHead } from '#storage/ports/meters';
import type { Grants } from '#test/simulation/checks/ledger';
import { Violation } from '#test/simulation/stored/version-index';

/**
 * Maximum difference in seconds between announced ends of one window: the clock skew. Ends of two
 * windows differ by a minute less the skew.
 */
const SAME_WINDOW_S = 20;

/** An account at the end of a run, after every node released its meter. */
export type Charged = {
  readonly accountId: string;
  readonly limits: Limits;
  readonly grants: Grants;
  /** Stored head of its meter; undefined if never recorded. */
  readonly head: MeterHead | undefined;
  /** Whether every ended limiter stopped cleanly. */
  readonly isUndisturbed: boolean;
};

/**
 * Checks an account: no caller exceeded the plan, every committed cycle is charged, and any excess
 * charge was lost in a crash, has expired or may still be settled. Nothing may be lost without a
 * crash. Throws a `Violation`.
 */
export function checkCharges({ accountId, limits, grants, head, isUndisturbed }: Charged): void {
  const { requestsPerMinute, cyclesPerMonth } = limits;
  for (const requests of requestsByWindow(grants)) {
    if (requests <= requestsPerMinute) continue;
    throw new Violation(`${accountId}: ${requests} of ${requestsPerMinute} requests in a window`);
  }
  for (const cycles of grants.committed.values()) {
    if (cycles <= cyclesPerMonth) continue;
    throw new Violation(`${accountId}: ${cycles} of ${cyclesPerMonth} cycles committed`);
  }
  const committed = grants.committed.get((head?.monthEndsAtMs ?? 0) / 1_000) ?? 0;
  const { charged, lost, expired, reserved } = usageOf(head);
  const spent = `${charged} charged (${lost} lost, ${expired} expired, ${reserved} reserved)`;
  if (head === undefined && grants.committed.size > 0) {
    throw new Violation(`${accountId}: cycles committed and nothing recorded`);
  }
  if (committed > charged) {
    throw new Violation(`${accountId}: ${committed} cycles committed and only ${spent}`);
  }
  if (charged > committed + grants.committedInEither + lost + expired + reserved) {
    throw new Violation(`${accountId}: ${spent} for ${committed} committed cycles`);
  }
  if (expired + reserved > grants.unsettled) {
    throw new Violation(`${accountId}: ${spent} with ${grants.unsettled} cycles unsettled`);
  }
  if (isUndisturbed && lost > 0) throw new Violation(`${accountId}: ${spent} without a crash`);
}

/** Usage as the account's next owner would report it. */
function usageOf(head: MeterHead | undefined) {
  if (head === undefined) return { charged: 0, lost: 0, expired: 0, reserved: 0 };
  const { monthWatermark, cyclesUsed, cyclesLost, cyclesExpired, reservations } = head;
  const reserved = reservations
    .filter(({ monthEndsAtMs }) => monthEndsAtMs === head.monthEndsAtMs)
    .reduce((sum, { cycles }) => sum + cycles, 0);
  const lost = cyclesLost + monthWatermark - reserved - cyclesUsed;
  return { charged: monthWatermark, lost, expired: cyclesExpired, reserved };
}

/** Requests per window, identified by the announced end. */
function requestsByWindow({ windows }: Grants): number[] {
  const counts: number[] = [];
  let lastEndS = Number.NEGATIVE_INFINITY;
  for (const [endS, requests] of [...windows].sort(([one], [other]) => one - other)) {
    if (endS - lastEndS > SAME_WINDOW_S) counts.push(0);
    counts.push((counts.pop() ?? 0) + requests);
    lastEndS = endS;
  }
  return counts;
}
