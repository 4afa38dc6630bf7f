import type { ListedInstance } from '#clients/typescript/src/models';
import { fleetApi } from '#pages/fleet/api';
import { PAGE_ROWS } from '#pages/fleet/rows';
import { type FleetView, queryOf } from '#pages/fleet/view';
import { instanceApi } from '#pages/instance/api';
import { Refused } from '#pages/shell/api';
import { randomKey } from '#pages/shell/idempotency-key';

/** Maximum instances of an action. A person can follow this many. */
export const BULK_MAX = 1_000;

/** Requests in flight. A person hardly notices a gain beyond a few. */
const IN_FLIGHT = 4;

/** Wait before a retry if the refusal names no time, in seconds. */
const WAIT_S = 5;

/** Action on selected instances. */
export type BulkAction =
  | { readonly kind: 'tag'; readonly key: string; readonly value: string }
  | { readonly kind: 'untag'; readonly key: string }
  | { readonly kind: 'reset'; readonly mode: string }
  | { readonly kind: 'delete' };

/** A failed instance, and the reason. */
type BulkFailure = { readonly of: ListedInstance; readonly refusal: Refused };

/** Progress of an action. */
export type BulkProgress = {
  readonly done: number;
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
    if (pagination.next_cursor === null || found.length >= BULK_MAX) {
      return found.slice(0, BULK_MAX);
    }
    query.set('cursor', pagination.next_cursor);
  }
}

/** Reverses an action for one instance. */
type Undo = () => Promise<unknown>;

/**
 * An action on each of some instances, a few at a time. If the account's limit of requests is
 * reached, waits and continues. A failed instance can be tried again: a request whose answer was
 * lost has no second effect.
 */
export class BulkRun {
  readonly #action: BulkAction;
  readonly #total: number;
  readonly #onProgress: (progress: BulkProgress) => void;
  readonly #keys = new Map<string, string>();
  readonly #undo: Undo[] = [];
  #queue: ListedInstance[];
  #failed: BulkFailure[] = [];
  #done = 0;
  #stopping = new AbortController();

  constructor(
    action: BulkAction,
    targets: readonly ListedInstance[],
    onProgress: (progress: BulkProgress) => void,
  ) {
    this.#action = action;
    this.#queue = [...targets];
    this.#total = targets.length;
    this.#onProgress = onProgress;
  }

  /** Applies the action to all instances that are left. */
  async run(): Promise<void> {
    this.#stopping = new AbortController();
    this.#report();
    await Promise.all(Array.from({ length: IN_FLIGHT }, () => this.#work()));
    this.#report(undefined, true);
  }

  /** Applies the action again to the instances that failed. */
  async runFailed(): Promise<void> {
    this.#queue = [...this.#failed.map(({ of }) => of), ...this.#queue];
    this.#failed = [];
    await this.run();
  }

  /** Stops before the next request. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Takes the action back. Returns the number of instances for which that failed. */
  async undo(): Promise<number> {
    let failures = 0;
    for (let next = this.#undo.pop(); next !== undefined; next = this.#undo.pop()) {
      await next().catch(() => {
        failures += 1;
      });
    }
    return failures;
  }

  #report(waitS?: number, isOver = false): void {
    const [done, total] = [this.#done, this.#total];
    this.#onProgress({ done, failed: [...this.#failed], total, waitS, isOver });
  }

  async #work(): Promise<void> {
    const { signal } = this.#stopping;
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      if (signal.aborted || !(await this.#applied(next, signal))) {
        this.#queue.unshift(next);
        return;
      }
      this.#report();
    }
  }

  /** Applies the action to one instance. Returns false if the run stopped before. */
  async #applied(target: ListedInstance, signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      try {
        await this.#send(target);
        this.#done += 1;
        return true;
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (error.code !== 'rate_limited') {
          this.#failed.push({ of: target, refusal: error });
          return true;
        }
        const waitS = error.retryAfterSeconds ?? WAIT_S;
        this.#report(waitS);
        await pause(waitS * 1_000, signal);
      }
    }
    return false;
  }

  async #send({ id }: ListedInstance): Promise<void> {
    const action = this.#action;
    switch (action.kind) {
      case 'tag': {
        const { key, value } = action;
        const before = await instanceApi.changeTags(id, (tags) => ({ ...tags, [key]: value }));
        this.#undo.push(() => restoreTag(id, key, before[key]));
        return;
      }
      case 'untag': {
        const { key } = action;
        const before = await instanceApi.changeTags(id, (tags) => withoutTag(tags, key));
        this.#undo.push(() => restoreTag(id, key, before[key]));
        return;
      }
      case 'reset':
        await instanceApi.reset(id, action.mode, this.#keyFor(id));
        return;
      case 'delete':
        await instanceApi.remove(id).catch((error: unknown) => {
          // The instance is deleted, perhaps by a request whose answer was lost.
          if (!(error instanceof Refused) || error.code !== 'not_found') throw error;
        });
    }
  }

  #keyFor(id: string): string {
    const key = this.#keys.get(id) ?? randomKey();
    this.#keys.set(id, key);
    return key;
  }
}

type Tags = Readonly<Record<string, string>>;

function withoutTag(tags: Tags, key: string): Tags {
  const { [key]: _, ...others } = tags;
  return others;
}

/** Gives a tag its value from before an action. Other tags stay as they are now. */
function restoreTag(id: string, key: string, value: string | undefined): Promise<Tags> {
  return instanceApi.changeTags(id, (tags) =>
    value === undefined ? withoutTag(tags, key) : { ...tags, [key]: value },
  );
}

/** Waits, at most until the signal aborts. */
function pause(pauseMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, pauseMs);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
