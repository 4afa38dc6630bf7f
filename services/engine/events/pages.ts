import { type EventRows, eventRowsOf } from '#engine/events/record';
import { followedState } from '#engine/instance/answers';
import { driftEventJson, historyJson } from '#engine/instance/rows';
import { headOf, type InstanceState } from '#engine/instance/state';
import { faultFor, invalid } from '#fault/fault';
import type { Models } from '#identity/models';
import type { Clock } from '#platform/clock';
import {
  type DriftRow,
  type HistoryRow,
  type InstanceHead,
  type InstanceStore,
  trimmedOf,
} from '#storage/ports/instances';
import {
  type EngineAnswer,
  type EngineCall,
  type EngineCommand,
  type EventCursor,
  plainAnswer,
} from '#wire/engine-messages';

/** Observations of one answer: as many as the largest batch brings. Source: decision 244. */
const EVENT_ROWS_MAX = 100;

/** Bytes of one answer's events, but for the first, which always fits. Source: decision 244. */
const EVENT_BYTES_MAX = 256 * 1_024;

/** What is asked: of which instance, and since when. */
type EventsWanted = {
  readonly instanceId: string;
  readonly state: InstanceState;
  readonly after: EventCursor | undefined;
};

/**
 * What has happened to an instance since a cursor, as text of server-sent events: every observation in
 * order, as many as fit, and once there is no more of them the present state. Where the cursor is no
 * more than an ordinal, or there is none, the state comes first. Empty when nothing has happened. Throws
 * `invalid_parameter` for an ordinal that the instance has not reached. Source: decision 244.
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
  head: InstanceHead,
  rows: EventRows,
  stateEvent: () => string,
): Promise<EngineAnswer> {
  const isResumed = after.generation === 0;
  const floor = trimmedOf(head);
  const from = Math.max(after.ordinal, floor.history);
  // Where rows have been trimmed meanwhile, so have the drift events that they brought.
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
  // One that begins has the state already.
  if (!isResumed) page.add(stateEvent());
  return answerOf(page.text, newestOf(head));
}

/** What belongs to an ordinal that a client remembers: drift events and generation up to it. */
async function resumedAt(
  ordinal: number,
  head: InstanceHead,
  rows: EventRows,
): Promise<EventCursor> {
  const { floor } = head;
  if (ordinal === 0) return { ordinal, drift: 0, generation: 1, version: 0 };
  if (floor !== undefined && ordinal === floor.history) {
    return { ordinal, drift: floor.drift, generation: floor.generation, version: 0 };
  }
  const [row] = await rows.history(ordinal, ordinal);
  if (row === undefined) throw new Error('what is above the floor is there');
  const drift = await rows.driftUpTo(row);
  return { ordinal, drift, generation: row.generation, version: 0 };
}

/** The events of an answer as they are written, and where they lead. */
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

  /** Behind the last cycle that was added. */
  get cursor(): EventCursor {
    return this.#cursor;
  }

  add(text: string): void {
    this.#text += text;
  }

  /** A generation begins, unless it has begun before. */
  enter(generation: number): void {
    if (generation === this.#cursor.generation) return;
    this.add(eventText('reset', JSON.stringify({ generation })));
    this.#cursor = { ...this.#cursor, generation };
  }

  /** Adds a cycle with the drift event that it brought. Returns whether it fitted. */
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

/** Where a stream stands that has had everything. */
function newestOf({ historyCount, driftCount, generation, version }: InstanceHead): EventCursor {
  return { ordinal: historyCount, drift: driftCount, generation, version };
}

/** One event. Its data has no line break, because JSON that is stored and written here has none. */
function eventText(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}

function answerOf(text: string, cursor: EventCursor): EngineAnswer {
  return { ...plainAnswer(text), cursor };
}

/** What an answer needs to get back before the call's time is over, in milliseconds. Chosen. */
const ANSWERED_BEFORE_MS = 1_000;

/** What the events of an instance are waited for with. */
type AwaitedEventsPorts = {
  readonly clock: Clock;
  readonly waiters: EventWaiters;
  readonly shardOf: (instanceId: string) => number;
  /** Asks the instance, in a turn. */
  readonly ask: (instanceId: string, call: EngineCall) => EngineAnswer | Promise<EngineAnswer>;
};

/**
 * What has happened to an instance, as soon as anything has; without anything in the time that the
 * command may wait, an answer without events. Between its turns the call holds nothing of the instance.
 * Throws the instance's refusals, and where its shard leaves this node meanwhile what the gate says.
 */
export async function awaitedEvents(
  call: EngineCall,
  { after, waitMs }: Extract<EngineCommand, { kind: 'readEvents' }>,
  { clock, waiters, shardOf, ask }: AwaitedEventsPorts,
): Promise<EngineAnswer> {
  const { instanceId, deadlineAtMs } = call;
  const leftMs = deadlineAtMs - clock.wallMs() - ANSWERED_BEFORE_MS;
  const endMs = clock.monotonicMs() + Math.min(waitMs, leftMs);
  // Before the first look: what happens after it is not missed.
  using watch = waiters.watch(instanceId, shardOf(instanceId));
  for (;;) {
    const answer = await ask(instanceId, call);
    const restMs = endMs - clock.monotonicMs();
    const isQuiet = (after?.version ?? 0) > 0 && answer.cursor?.version === after?.version;
    if (!isQuiet || restMs <= 0 || !(await watch.change(restMs))) return answer;
  }
}

/** Calls that wait for something to happen, per process: those of eight edges (decision 244). */
const WAITERS_MAX = 16_384;

/** A call that watches an instance, from before it looks at it. */
type Watch = Disposable & {
  /**
   * Fulfils with true as soon as anything has happened since the watch began or last said so, and with
   * false after `ms` without.
   */
  change(ms: number): Promise<boolean>;
};

type Waiter = {
  readonly shard: number;
  hasChanged: boolean;
  /** Set while the call waits. */
  wake: (() => void) | undefined;
};

/**
 * The calls that wait for something to happen to an instance. They hold neither its turn nor a place in
 * its mailbox; a call that is woken asks the instance again. A commit wakes before it is durable: what is
 * asked then waits for that like any answer. Source: decision 244.
 */
export class EventWaiters {
  readonly #clock: Clock;
  readonly #ofInstance = new Map<string, Set<Waiter>>();
  #size = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many calls watch an instance. */
  get size(): number {
    return this.#size;
  }

  /** Something was committed. On the hot path: cheap while no call waits. */
  changed(instanceId: string): void {
    if (this.#size === 0) return;
    for (const waiter of this.#ofInstance.get(instanceId) ?? []) notify(waiter);
  }

  /** A shard, or every one, is served here no longer: those who ask again hear who serves it. */
  left(shard: number | undefined): void {
    for (const waiters of this.#ofInstance.values()) {
      for (const waiter of waiters) {
        if (shard === undefined || waiter.shard === shard) notify(waiter);
      }
    }
  }

  /** Begins to watch an instance. Throws `overloaded` when too many do. */
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
