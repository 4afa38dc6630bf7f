import { type EventRows, eventRowsOf } from '#engine/event-rows';
import { followedState } from '#engine/instance-answers';
import { headOf, type InstanceState } from '#engine/instance-state';
import { driftEventJson, historyJson } from '#engine/record-pages';
import { invalid } from '#fault/fault';
import type { Models } from '#identity/model';
import { trimmedOf } from '#storage/floor';
import type { DriftRow, HistoryRow, InstanceHead, InstanceStore } from '#storage/instance-store';
import { type EngineAnswer, type EventCursor, plainAnswer } from '#wire/engine-messages';

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
