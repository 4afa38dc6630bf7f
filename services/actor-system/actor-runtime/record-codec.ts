import type { JournalRecord } from '#storage/ports/journal';
import { isSampled, type Span, type Tracer } from '#telemetry/tracer';

/** Version of the group format. A reader refuses any other version. */
const FORMAT = 1;

/** A group is JSON in a fixed layout, so that its records can be split without parsing them. */
const OPENING = `[${FORMAT},[\n`;
const BETWEEN = ',\n';
const CLOSING = '\n]]';

/** Actor kind and id at the start of a line. Ids contain no character that JSON escapes. */
const ACTOR = /^\["([^"\\]*)","([^"\\]*)",/;

/** Fault of a journal with unreadable data. The reader fails loudly (architecture 3.1). */
export class CorruptJournal extends Error {
  override readonly name = 'CorruptJournal';
}

/** Encodes a record as a line of JSON, which operators can read. Numbers round-trip exactly. */
export function encodeRecord(record: JournalRecord): string {
  const { actor, actorId, version, callId, atMs, event } = record;
  return JSON.stringify([actor, actorId, version, callId, atMs, event]);
}

/** Decodes the record of a line. Throws `CorruptJournal` when the line is not a record. */
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

/**
 * Actor kind and id of a line, usually without parsing the line. Throws `CorruptJournal` when the
 * line is not a record.
 */
export function actorOf(line: string): Pick<JournalRecord, 'actor' | 'actorId'> {
  const [, actor, actorId] = ACTOR.exec(line) ?? [];
  return actor === undefined || actorId === undefined ? decodeRecord(line) : { actor, actorId };
}

/** Encodes lines as a stored group: JSON with one record per line. */
export function encodeGroup(lines: readonly string[]): Uint8Array {
  return Buffer.from(OPENING + lines.join(BETWEEN) + CLOSING);
}

/**
 * Splits a stored group into lines, whatever its JSON layout. Throws `CorruptJournal` when the
 * bytes are not a group. The lines are validated later, when they are decoded.
 */
export function linesOf(bytes: Uint8Array): string[] {
  const text = textOf(bytes);
  if (text.startsWith(OPENING) && text.endsWith(CLOSING)) {
    // JSON escapes line breaks in strings, so this separator occurs only between lines.
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
 * Copies lines out of their group text: V8 keeps a whole string in memory while a slice of it is
 * used.
 */
export function cutLoose(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : lines.join(BETWEEN).split(BETWEEN);
}

/**
 * Decodes the records of a stored group. Throws `CorruptJournal` when the bytes are not a group.
 */
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

/** Run of consecutive records that one recorded span committed and that no append has taken yet. */
type TracedRecords = { readonly from: number; to: number; readonly traceparent: string };

/** Maximum number of remembered runs. A group holds 4,096 records, and few of them are traced. */
const RUNS_MAX = 1_024;

/** Links the span of an append to the spans that committed its records. */
export class AppendSpans {
  readonly #tracer: Tracer;
  readonly #service: string;
  #waiting: TracedRecords[] = [];

  /** `service`: service that owns the journal. */
  constructor(tracer: Tracer, service: string) {
    this.#tracer = tracer;
    this.#service = service;
  }

  /** Registers that a span committed the record at `offset`. Offsets must increase. */
  committed(offset: number, traceparent: string): void {
    if (!isSampled(traceparent)) return;
    const last = this.#waiting.at(-1);
    // The records of one takeover share one span. Merge them, so that they do not displace the runs
    // of calls.
    if (last?.traceparent === traceparent && last.to === offset - 1) last.to = offset;
    else if (this.#waiting.length < RUNS_MAX) {
      this.#waiting.push({ from: offset, to: offset, traceparent });
    }
  }

  /**
   * Starts the span for an append of `records` up to `offset`. Undefined if no record is traced.
   */
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

  /** Forgets all runs, because the log has ended. */
  clear(): void {
    this.#waiting = [];
  }
}
