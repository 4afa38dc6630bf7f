import { USUAL_TYPES } from '#edge/endpoints/events';
import { TRANSITIONS } from '#identity/transitions';
import type { FeedRow, FeedStore } from '#storage/ports/feeds';
import { rowsOf } from '#test/chaos/checks/feeds';
import type { Findings } from '#test/chaos/checks/findings';
import type { Inbox } from '#test/chaos/load/webhook-receiver';

/** Types that an endpoint does not get by default. */
const UNWANTED = TRANSITIONS.flatMap((type, at) => (USUAL_TYPES.includes(type) ? [] : [at]));

/**
 * Checks that each account received every wanted event of its stored feed, and nothing else. The
 * events of an instance arrive in order, and repetitions have the same content.
 */
export async function checkDeliveries(
  inboxOf: (accountId: string) => Inbox,
  accounts: readonly string[],
  feeds: FeedStore,
  findings: Findings,
): Promise<void> {
  for (const account of accounts) {
    checkInbox(account, inboxOf(account), await rowsOf(account, feeds, findings), findings);
  }
}

function checkInbox(
  account: string,
  inbox: Inbox,
  rows: readonly FeedRow[],
  findings: Findings,
): void {
  const counts = countsIn(rows);
  for (const id of counts.keys()) {
    if (!inbox.arrivals.has(id)) findings.add(`${account} never received ${id}`);
  }
  for (const id of inbox.changed) findings.add(`${account} received two contents of ${id}`);
  const newest = new Map<string, Place>();
  for (const [id, { followsGap }] of inbox.arrivals) {
    const count = counts.get(id);
    if (count === undefined) findings.add(`${account} received ${id}, which is not in its log`);
    const place = placeOf(id);
    const before = newest.get(place.instance);
    if (before === undefined || isAfter(place, before)) newest.set(place.instance, place);
    else if (!followsGap && count === 1) findings.add(`${account} received ${id} too late`);
  }
}

/** How often the log has each wanted event. A take-over may repeat a row. */
function countsIn(rows: readonly FeedRow[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [instance, version, , transitions] of rows) {
    for (const [index, [type = 0]] of transitions.entries()) {
      if (UNWANTED.includes(type)) continue;
      const id = `${instance}-${version}-${index}`;
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
  }
  return counts;
}

type Place = { readonly instance: string; readonly version: number; readonly index: number };

function placeOf(id: string): Place {
  const [instance = '', version, index] = id.split('-');
  return { instance, version: Number(version), index: Number(index) };
}

function isAfter(a: Place, b: Place): boolean {
  return a.version > b.version || (a.version === b.version && a.index > b.index);
}
