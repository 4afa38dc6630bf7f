import type { ListedInstance } from '#clients/typescript/src/models';
import { fleetApi } from '#pages/fleet/api';
import { PAGE_ROWS } from '#pages/fleet/rows';
import { type FleetView, queryOf } from '#pages/fleet/view';
import { instanceApi } from '#pages/instance/api';
import { Refused } from '#pages/shell/api';

/** Maximum number of instances in one action, so that a person can follow it. */
export const BULK_MAX = 1_000;

/** Requests in flight. A person hardly notices a gain beyond a few. */
const IN_FLIGHT = 4;

/** Wait before a retry if the refusal names no time, in seconds. */
const WAIT_S = 5;

/** Action on selected instances. */
export type BulkAction =
  | { readonly kind: 'tag'; readonly key: string; readonly value: string }
  | { readonly kind: 'untag'; readonly key: string }
  /** Restores tags, to take an action back. */
  | { readonly kind: 'restore' }
  | { readonly kind: 'reset'; readonly mode: string }
  | { readonly kind: 'delete' };

/** A failed instance, and the reason. */
type BulkFailure = { readonly of: ListedInstance; readonly refusal: Refused };

/** Progress of an action. */
export type BulkProgress = {
  readonly done: readonly ListedInstance[];
  readonly failed: readonly BulkFailure[];
  readonly total: number;
  /** Seconds until the account's limit of requests allows the next request. */
  readonly waitS: number | undefined;
  readonly isOver: boolean;
};

/** All instances that a view selects, at most `BULK_MAX`. One request per 100 instances. */
export async function allOf(view: FleetView): Promise<ListedInstance[]> {
  const found: ListedInstance[] = [];
  const query = queryOf(view);
  query.set('limit', String(PAGE_ROWS));
  for (;;) {
    const { data, pagination } = await fleetApi.list(query);
    found.push(...data);
    if (pagination.next_cursor === null || found.length >= BULK_MAX)
      return found.slice(0, BULK_MAX);
    query.set('cursor', pagination.next_cursor);
  }
}

/**
 * Applies an action to each instance with its own request, a few at a time, and calls `onProgress`
 * after each answer. If the account's limit of requests is reached, waits and continues. Stops
 * before the next request when `signal` aborts.
 */
export async function applyInBulk(
  targets: readonly ListedInstance[],
  action: BulkAction,
  onProgress: (progress: BulkProgress) => void,
  signal: AbortSignal,
): Promise<void> {
  const done: ListedInstance[] = [];
  const failed: BulkFailure[] = [];
  const queue = [...targets];
  const report = (waitS?: number, isOver = false) =>
    onProgress({ done: [...done], failed: [...failed], total: targets.length, waitS, isOver });
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      if (signal.aborted) return;
      try {
        await applied(next, action, report, signal);
        done.push(next);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        failed.push({ of: next, refusal: error });
      }
      report();
    }
  };
  report();
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  report(undefined, true);
}

/** Applies the action to one instance. A request over the limit is sent again after the wait. */
async function applied(
  target: ListedInstance,
  action: BulkAction,
  report: (waitS: number) => void,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      await sent(target, action);
      return;
    } catch (error) {
      if (!(error instanceof Refused) || error.code !== 'rate_limited' || signal.aborted)
        throw error;
      const waitS = error.retryAfterSeconds ?? WAIT_S;
      report(waitS);
      await new Promise((resolve) => setTimeout(resolve, waitS * 1_000));
    }
  }
}

async function sent({ id, tags = {} }: ListedInstance, action: BulkAction): Promise<void> {
  switch (action.kind) {
    case 'tag':
      await instanceApi.update(id, { tags: { ...tags, [action.key]: action.value } });
      return;
    case 'untag': {
      const { [action.key]: _, ...others } = tags;
      await instanceApi.update(id, { tags: others });
      return;
    }
    case 'restore':
      await instanceApi.update(id, { tags });
      return;
    case 'reset':
      await instanceApi.reset(id, action.mode);
      return;
    case 'delete':
      await instanceApi.remove(id);
  }
}
