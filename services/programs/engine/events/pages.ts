import { followedState } from '#engine/instance/answers';
import { driftEventJson, historyJson } from '#engine/instance/rows';
import { type EventRows, eventRowsOf } from '#engine/instance/sourcing';
import { headOf, type InstanceState } from '#engine/instance/state';
import { faultFor, invalid } from '#errors/fault';
import {
  type EngineAnswer,
  type EngineCall,
  type EngineCommand,
  type EventCursor,
  plainAnswer,
} from '#grpc/engine-messages';
import type { Models } from '#identity/model';
import type { Clock } from '#stdlib/clock';
import {
  type DriftRow,
  type HeldHead,
  type HistoryRow,
  type InstanceStore,
  trimmedOf,
} from '#storage/ports/instances';

/**
 * Maximum number of observations per answer: the size of the largest batch. Source: decision 244.
 */
const EVENT_ROWS_MAX = 100;

/** Maximum event bytes per answer. The first event is sent in any size. Source: decision 244. */
const EVENT_BYTES_MAX = 256 * 1_024;

/** Instance and cursor in an event request. */
type EventsWanted = {
  readonly instanceId: string;
  readonly state: InstanceState;
  readonly after: EventCursor | undefined;
};

/**
 * Returns the events of an instance after a cursor, as text of server-sent events. Source: decision
 * 244.
 *
 * The text has as many observations as fit, in order. The present state follows the last
 * observation. Without a cursor, or with an ordinal as cursor, the state comes first. The text is
 * empty if nothing has happened. Throws `invalid_parameter` for an ordinal beyond the newest
 * observation.
 */
export function eventPage(
  { instanceId, state, after }: EventsWanted,
  store: InstanceStore,
  models: Models,
): EngineAnswer | Promise<EngineAnswer> {
  const head = headOf(state);
  const stateEvent = () => eventText('state', followedState(instanceId, head, models));
  if (after === undefined) {
    const text = `id: ${head.historyCount}\n\n${stateEvent()}`;
    return answerOf(text, newestOf(head));
  }
  if (after.version === head.version) return answerOf('', after);
  if (after.ordinal > head.historyCount) {
    const text = `the newest observation is ${head.historyCount}`;
    throw invalid('invalid_parameter', 'after', text);
  }
  return pageAfter(after, head, eventRowsOf(instanceId, state, store), stateEvent);
}

async function pageAfter(
  after: EventCursor,
  head: HeldHead,
  rows: EventRows,
  stateEvent: () => string,
): Promise<EngineAnswer> {
  const isResumed = after.generation === 0;
  const floor = trimmedOf(head);
  const from = Math.max(after.ordinal, floor.history);
  // If rows have been trimmed meanwhile, their drift events were trimmed too.
  const drifted = Math.max(after.drift, floor.drift);
  const begin = isResumed
    ? await resumedAt(from, head, rows)
    : { ...after, ordinal: from, drift: drifted };
  const last = Math.min(head.historyCount, from + EVENT_ROWS_MAX);
  const observations = await rows.history(from + 1, last);
  const mayHaveDrifted = Math.min(head.driftCount, begin.drift + observations.length);
  const drift = await rows.drift(begin.drift + 1, mayHaveDrifted);
  const page = new EventText(begin);
  if (isResumed) page.add(stateEvent());
  if (from > after.ordinal) {
    page.add(eventText('gap', JSON.stringify({ from: after.ordinal + 1, to: from })));
  }
  for (const observation of observations) if (!page.addCycle(observation, drift)) break;
  const { cursor } = page;
  if (cursor.ordinal < head.historyCount) return answerOf(page.text, cursor);
  page.enter(head.generation);
  // An answer that resumes at an ordinal begins with the state, so the state is not added again.
  if (!isResumed) page.add(stateEvent());
  return answerOf(page.text, newestOf(head));
}

/** Cursor for a client's last ordinal: adds the drift count and generation at this ordinal. */
async function resumedAt(ordinal: number, head: HeldHead, rows: EventRows): Promise<EventCursor> {
  const { floor } = head;
  if (ordinal === 0) return { ordinal, drift: 0, generation: 1, version: 0 };
  if (floor !== undefined && ordinal === floor.history) {
    return { ordinal, drift: floor.drift, generation: floor.generation, version: 0 };
  }
  const [row] = await rows.history(ordinal, ordinal);
  if (row === undefined) throw new Error('a row above the floor is missing');
  const drift = await rows.driftUpTo(row);
  return { ordinal, drift, generation: row.generation, version: 0 };
}

/** Event text for an answer, and the cursor after these events. */
class EventText {
  #text = '';
  #bytes = 0;
  #cursor: EventCursor;

  constructor(begin: EventCursor) {
    this.#cursor = { ...begin, version: 0 };
  }

  get text(): string {
    return this.#text;
  }

  /** Cursor after the last added cycle. */
  get cursor(): EventCursor {
    return this.#cursor;
  }

  add(text: string): void {
    this.#text += text;
  }

  /** Adds a `reset` event if the generation is new. */
  enter(generation: number): void {
    if (generation === this.#cursor.generation) return;
    this.add(eventText('reset', JSON.stringify({ generation })));
    this.#cursor = { ...this.#cursor, generation };
  }

  /** Adds a cycle with its drift event. Returns false if the cycle does not fit. */
  addCycle(row: HistoryRow, drift: readonly DriftRow[]): boolean {
    const { generation, cycle } = row;
    const own = drift.find((event) => event.generation === generation && event.cycle === cycle);
    const driftJson = own === undefined ? 'null' : driftEventJson(own, true);
    const data = `{"observation":${historyJson(row, true)},"drift":${driftJson}}`;
    const bytes = Buffer.byteLength(data);
    if (this.#bytes > 0 && this.#bytes + bytes > EVENT_BYTES_MAX) return false;
    this.#bytes += bytes;
    this.enter(generation);
    this.add(`id: ${row.ordinal}\n${eventText('cycle', data)}`);
    this.#cursor = {
      ...this.#cursor,
      ordinal: row.ordinal,
      drift: own?.ordinal ?? this.#cursor.drift,
    };
    return true;
  }
}

/** Cursor after all events so far. */
function newestOf({ historyCount, driftCount, generation, version }: HeldHead): EventCursor {
  return { ordinal: historyCount, drift: driftCount, generation, version };
}

/** Event text. The data must not contain line breaks; JSON written here has none. */
function eventText(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}

function answerOf(text: string, cursor: EventCursor): EngineAnswer {
  return { ...plainAnswer(text), cursor };
}

/** Time reserved for sending the answer before the call's deadline, in milliseconds. */
export const ANSWERED_BEFORE_MS = 1_000;

/** Dependencies for `awaitedEvents`. */
type AwaitedEventsPorts = {
  readonly clock: Clock;
  readonly waiters: EventWaiters;
  readonly shardOf: (instanceId: string) => number;
  /** Calls the instance in a turn. */
  readonly ask: (instanceId: string, call: EngineCall) => EngineAnswer | Promise<EngineAnswer>;
};

/**
 * Long poll: answers as soon as the instance has events. Answers without events after the command's
 * waiting time. Between turns, the call holds no instance resources. Rejects like the instance, and
 * like the gate if the shard leaves this node meanwhile.
 */
export async function awaitedEvents(
  call: EngineCall,
  { after, waitMs }: Extract<EngineCommand, { kind: 'readEvents' }>,
  { clock, waiters, shardOf, ask }: AwaitedEventsPorts,
): Promise<EngineAnswer> {
  const { instanceId, deadlineAtMs } = call;
  const leftMs = deadlineAtMs - clock.wallMs() - ANSWERED_BEFORE_MS;
  const endMs = clock.monotonicMs() + Math.min(waitMs, leftMs);
  // Begin to watch before the first read, so that no change after the read is missed.
  using watch = waiters.watch(instanceId, shardOf(instanceId));
  for (;;) {
    const answer = await ask(instanceId, call);
    const restMs = endMs - clock.monotonicMs();
    const isQuiet = (after?.version ?? 0) > 0 && answer.cursor?.version === after?.version;
    if (!isQuiet || restMs <= 0 || !(await watch.change(restMs))) return answer;
  }
}

/**
 * Maximum number of calls per process that wait for events: the calls of eight edges. Source:
 * decision 244.
 */
const WAITERS_MAX = 16_384;

/** A call's watch on an instance. Begins before the call's first read. */
type Watch = Disposable & {
  /**
   * Fulfils with true once the instance has changed since the watch began or last fulfilled.
   * Fulfils with false after `ms` milliseconds without a change.
   */
  change(ms: number): Promise<boolean>;
};

type Waiter = {
  readonly shard: number;
  hasChanged: boolean;
  /** Wakes the call; set only while the call waits. */
  wake: (() => void) | undefined;
};

/**
 * Calls that wait for an instance's changes, without holding a turn or a slot in the mailbox. A
 * woken call reads the instance again. A commit wakes calls before the commit is durable; their
 * answers then wait for durability as usual. Source: decision 244.
 */
export class EventWaiters {
  readonly #clock: Clock;
  readonly #ofInstance = new Map<string, Set<Waiter>>();
  #size = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Number of calls that watch an instance. */
  get size(): number {
    return this.#size;
  }

  /** Wakes an instance's waiters after a commit. On the hot path, so cheap without waiters. */
  changed(instanceId: string): void {
    if (this.#size === 0) return;
    for (const waiter of this.#ofInstance.get(instanceId) ?? []) notify(waiter);
  }

  /**
   * Wakes a released shard's waiters (all shards if undefined). Their retry goes to the new owner.
   */
  left(shard: number | undefined): void {
    for (const waiters of this.#ofInstance.values()) {
      for (const waiter of waiters) {
        if (shard === undefined || waiter.shard === shard) notify(waiter);
      }
    }
  }

  /**
   * Begins to watch an instance. Throws `service_unavailable` (reason `overloaded`) if too many
   * calls watch.
   */
  watch(instanceId: string, shard: number): Watch {
    if (this.#size >= WAITERS_MAX) {
      throw faultFor('overloaded', 'too many calls wait for events', { retryAfterS: 1 });
    }
    const waiter: Waiter = { shard, hasChanged: false, wake: undefined };
    const waiters = this.#ofInstance.get(instanceId) ?? new Set();
    this.#ofInstance.set(instanceId, waiters.add(waiter));
    this.#size += 1;
    return {
      change: (ms) => changeOf(waiter, ms, this.#clock),
      [Symbol.dispose]: () => {
        if (!waiters.delete(waiter)) return;
        this.#size -= 1;
        if (waiters.size === 0) this.#ofInstance.delete(instanceId);
      },
    };
  }
}

function notify(waiter: Waiter): void {
  waiter.hasChanged = true;
  waiter.wake?.();
}

async function changeOf(waiter: Waiter, ms: number, clock: Clock): Promise<boolean> {
  if (!waiter.hasChanged) {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiter.wake = resolve;
    using _timer = clock.after(ms, resolve);
    await promise;
    waiter.wake = undefined;
  }
  const { hasChanged } = waiter;
  waiter.hasChanged = false;
  return hasChanged;
}
