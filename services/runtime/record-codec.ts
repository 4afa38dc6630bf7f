import { isSampled, type Span, type Tracer } from '#platform/tracer';
import type { JournalRecord } from '#storage/ports/journal';

/** The way groups are written; a reader refuses what it does not know. */
const FORMAT = 1;

/** A group is JSON, spelled so that its records can be told apart without reading them. */
const OPENING = `[${FORMAT},[\n`;
const BETWEEN = ',\n';
const CLOSING = '\n]]';

/** Kind and id, which a line begins with; our ids hold nothing that JSON escapes. */
const ACTOR = /^\["([^"\\]*)","([^"\\]*)",/;

/** What the journal holds makes no sense: the reader fails loudly (architecture 3.1). */
export class CorruptJournal extends Error {
  override readonly name = 'CorruptJournal';
}

/**
 * A record as the journal keeps it: a line of JSON, so that an operator can read it. Numbers come
 * back to the last bit.
 */
export function encodeRecord(record: JournalRecord): string {
  const { actor, actorId, version, callId, atMs, event } = record;
  return JSON.stringify([actor, actorId, version, callId, atMs, event]);
}

/** The record of a line. Throws `CorruptJournal` when it is none. */
export function decodeRecord(line: string): JournalRecord {
  const row = parse(line);
  if (!Array.isArray(row)) throw new CorruptJournal('not a record');
  const [actor, actorId, version, callId, atMs, event] = row;
  const isRecord =
    typeof actor === 'string' &&
    typeof actorId === 'string' &&
    isCount(version) &&
    isCount(callId) &&
    typeof atMs === 'number' &&
    event !== undefined;
  if (!isRecord) throw new CorruptJournal('a record lacks a field');
  return { actor, actorId, version, callId, atMs, event };
}

/** Whose record a line is, without reading it all. Throws `CorruptJournal` when it does not say. */
export function actorOf(line: string): Pick<JournalRecord, 'actor' | 'actorId'> {
  const [, actor, actorId] = ACTOR.exec(line) ?? [];
  return actor === undefined || actorId === undefined ? decodeRecord(line) : { actor, actorId };
}

/** Lines as the journal stores a group of them: JSON that has each on a line of its own. */
export function encodeGroup(lines: readonly string[]): Uint8Array {
  return Buffer.from(OPENING + lines.join(BETWEEN) + CLOSING);
}

/**
 * The lines of a stored group, however its JSON is spelled. Throws `CorruptJournal` when it is not
 * a group; what a line says is seen when it is read.
 */
export function linesOf(bytes: Uint8Array): string[] {
  const text = textOf(bytes);
  if (text.startsWith(OPENING) && text.endsWith(CLOSING)) {
    // A line break in a text is escaped, so these are those between lines.
    const lines = text.slice(OPENING.length, -CLOSING.length);
    return lines === '' ? [] : lines.split(BETWEEN);
  }
  const group = parse(text);
  if (!Array.isArray(group) || !Array.isArray(group[1])) {
    throw new CorruptJournal('not a group of a known format');
  }
  if (group[0] !== FORMAT) {
    const found = String(group[0]);
    throw new CorruptJournal(`a group of format ${found}; this program reads format ${FORMAT}`);
  }
  return group[1].map((row) => JSON.stringify(row));
}

/**
 * The same lines without the group that they were cut out of: V8 keeps a whole text as long as
 * anybody holds a piece of it.
 */
export function cutLoose(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : lines.join(BETWEEN).split(BETWEEN);
}

/** The records of a stored group. Throws `CorruptJournal` when it is not one. */
export function decodeGroup(bytes: Uint8Array): JournalRecord[] {
  return linesOf(bytes).map(decodeRecord);
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

function textOf(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    throw new CorruptJournal('not UTF-8', { cause });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CorruptJournal('not JSON', { cause });
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** Records of one recorded span, one behind the other, that no append has taken yet. */
type TracedRecords = { readonly from: number; to: number; readonly traceparent: string };

/** Such runs that are remembered: a group holds 4,096 records, of which few are traced. */
const RUNS_MAX = 1_024;

/** Knows which spans committed the records of a group, so that its append is linked to them. */
export class AppendSpans {
  readonly #tracer: Tracer;
  readonly #service: string;
  #waiting: TracedRecords[] = [];

  /** `service` is whose journal it is. */
  constructor(tracer: Tracer, service: string) {
    this.#tracer = tracer;
    this.#service = service;
  }

  /** A span has committed the record at `offset`; offsets grow. */
  committed(offset: number, traceparent: string): void {
    if (!isSampled(traceparent)) return;
    const last = this.#waiting.at(-1);
    // A takeover's records are all of one span, and must not crowd out those of calls.
    if (last?.traceparent === traceparent && last.to === offset - 1) last.to = offset;
    else if (this.#waiting.length < RUNS_MAX) {
      this.#waiting.push({ from: offset, to: offset, traceparent });
    }
  }

  /** The span of an append that takes `records` up to `offset`; undefined where none is traced. */
  begin(records: number, offset: number): Span | undefined {
    if (this.#waiting.length === 0) return undefined;
    const taken = this.#waiting.filter(({ from }) => from <= offset);
    if (taken.length === 0) return undefined;
    const left = this.#waiting.filter(({ to }) => to > offset);
    this.#waiting = left.map((run) => ({ ...run, from: Math.max(run.from, offset + 1) }));
    const attributes = { 'identity.service': this.#service, 'identity.journal.records': records };
    const links = [...new Set(taken.map(({ traceparent }) => traceparent))];
    return this.#tracer.ofMany(links, { name: 'journal append', kind: 'internal', attributes });
  }

  /** Forgets what no append will take. */
  clear(): void {
    this.#waiting = [];
  }
}
