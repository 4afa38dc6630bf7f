import type { Limits } from '#accounts/plan';
import type { MeterHead } from '#storage/ports/meters';
import type { Grants } from '#test/simulation/checks/ledger';
import { Violation } from '#test/simulation/stored/version-index';

/**
 * Two announced window ends belong to the same window if they differ by at most this many seconds.
 * The difference comes from clock skew; different windows are almost a minute apart.
 */
const SAME_WINDOW_S = 20;

/** An account at the end of a run, after all nodes have released its meter. */
export type Charged = {
  readonly accountId: string;
  readonly limits: Limits;
  readonly grants: Grants;
  /** Stored head of the account's meter; undefined if no meter is stored. */
  readonly head: MeterHead | undefined;
  /** Whether every limiter stopped cleanly. */
  readonly isUndisturbed: boolean;
};

/**
 * Checks that no caller exceeded the plan and every committed cycle is charged. Any other charge
 * must be lost in a crash, expired, or reserved for an unsettled call. Throws a `Violation`.
 */
export function checkCharges({ accountId, limits, grants, head, isUndisturbed }: Charged): void {
  const { requestsPerMinute, cyclesPerMonth } = limits;
  for (const requests of requestsByWindow(grants)) {
    if (requests <= requestsPerMinute) continue;
    throw new Violation(
      `${accountId}: ${requests} requests admitted in one window; ` +
        `the plan allows ${requestsPerMinute}`,
    );
  }
  for (const cycles of grants.committed.values()) {
    if (cycles <= cyclesPerMonth) continue;
    throw new Violation(
      `${accountId}: ${cycles} cycles committed; the plan allows ${cyclesPerMonth} a month`,
    );
  }
  const committed = grants.committed.get((head?.monthEndsAtMs ?? 0) / 1_000) ?? 0;
  const { charged, lost, expired, reserved } = usageOf(head);
  const spent = `${charged} charged (${lost} lost, ${expired} expired, ${reserved} reserved)`;
  if (head === undefined && grants.committed.size > 0) {
    throw new Violation(`${accountId}: cycles committed, but no meter is stored`);
  }
  if (committed > charged) {
    throw new Violation(`${accountId}: ${committed} cycles committed, but only ${spent}`);
  }
  if (charged > committed + grants.committedInEither + lost + expired + reserved) {
    throw new Violation(`${accountId}: ${spent}, but only ${committed} committed`);
  }
  if (expired + reserved > grants.unsettled) {
    throw new Violation(`${accountId}: ${spent}, but only ${grants.unsettled} unsettled`);
  }
  if (!isUndisturbed || lost <= 0) return;
  throw new Violation(`${accountId}: ${spent}, but no limiter crashed`);
}

/** Usage in cycles, with the formula that the account's next owner uses. */
function usageOf(head: MeterHead | undefined) {
  if (head === undefined) return { charged: 0, lost: 0, expired: 0, reserved: 0 };
  const { monthWatermark, cyclesUsed, cyclesLost, cyclesExpired, reservations } = head;
  const reserved = reservations
    .filter(({ monthEndsAtMs }) => monthEndsAtMs === head.monthEndsAtMs)
    .reduce((sum, { cycles }) => sum + cycles, 0);
  const lost = cyclesLost + monthWatermark - reserved - cyclesUsed;
  return { charged: monthWatermark, lost, expired: cyclesExpired, reserved };
}

/** Request count of each window. */
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
