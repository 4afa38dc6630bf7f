import { type Fault, invalid } from '#fault/fault';

/*
 * Cursors of lists: where a walk through a list goes on (decision 281). The text is opaque to callers:
 * base64url of a JSON list. It holds no secret, and a forged one shows its caller nothing but rows of the
 * caller's own lists.
 */

/** Where a walk through the instances of an account stands. */
export type InstancesCursor = {
  readonly sort: 'created_at' | 'name';
  readonly order: 'asc' | 'desc';
  readonly search: string | undefined;
  /** Rows that the walk has shown. */
  readonly seen: number;
  /** The last row that was shown: when and as what it was created. */
  readonly createdAtMs: number;
  readonly instanceId: string;
  /** Where it stood among the names, if the walk is sorted by name. */
  readonly byName: NamePosition | undefined;
};

/** A place among the names as they were when the walk began. */
type NamePosition = {
  readonly name: string;
  /** The directory in memory that counted `renames`. */
  readonly epoch: number;
  /** How many renames the directory had seen when the walk began. */
  readonly renames: number;
  /** Checksum of all rows at the last page; undefined if there were renames since the walk began. */
  readonly checksum: number | undefined;
};

/** Where a walk through the history or the drift events of an instance stands. */
export type RecordsCursor = {
  readonly list: 'history' | 'drift';
  readonly instanceId: string;
  readonly isEveryGeneration: boolean;
  readonly seen: number;
  /** Ordinal of the last row that was shown; the rows below it are left. */
  readonly before: number;
  /** Ordinal of the row below the last one of the walk: a reset meanwhile does not move it. */
  readonly start: number;
};

const TEXT_LENGTH_MAX = 1_024;

/** The text of a cursor through instances. */
export function instancesCursorText(cursor: InstancesCursor): string {
  const { sort, order, search = null, seen, createdAtMs, instanceId, byName } = cursor;
  const names =
    byName === undefined
      ? []
      : [byName.name, byName.epoch, byName.renames, byName.checksum ?? null];
  return textOf(['i', sort, order, search, seen, createdAtMs, instanceId, ...names]);
}

/** The text of a cursor through records. */
export function recordsCursorText(cursor: RecordsCursor): string {
  const { list, instanceId, isEveryGeneration, seen, before, start } = cursor;
  return textOf([list, instanceId, isEveryGeneration, seen, before, start]);
}

/** Reads a cursor through instances. Throws `invalid_parameter`. */
export function instancesCursorFrom(text: string): InstancesCursor {
  const [list, sort, order, search, seen, createdAtMs, instanceId, ...names] = fieldsOf(text);
  const isSort = sort === 'created_at' || sort === 'name';
  const isOrder = order === 'asc' || order === 'desc';
  const isSearch = search === null || typeof search === 'string';
  if (list !== 'i' || !isSort || !isOrder || !isSearch) throw unreadable();
  return {
    ...{ sort, order, search: search ?? undefined },
    ...{ seen: whole(seen), createdAtMs: whole(createdAtMs), instanceId: string(instanceId) },
    byName: sort === 'name' ? namePosition(names) : undefined,
  };
}

/** Reads a cursor through records. Throws `invalid_parameter`. */
export function recordsCursorFrom(text: string, list: RecordsCursor['list']): RecordsCursor {
  const [found, id, isEveryGeneration, seen, before, start] = fieldsOf(text);
  if (found !== list || typeof isEveryGeneration !== 'boolean') throw unreadable();
  const ordinals = { seen: whole(seen), before: whole(before), start: whole(start) };
  return { list, instanceId: string(id), isEveryGeneration, ...ordinals };
}

/** The page behind a cursor through instances: the cursor has all but its length. */
export function pageOfInstances(limit: number, cursor: InstancesCursor) {
  const { sort, order, search } = cursor;
  return { limit, offset: 0, sort, order, search, cursor };
}

/** The page behind a cursor through records. */
export function pageOfRecords(limit: number, cursor: RecordsCursor) {
  const { isEveryGeneration } = cursor;
  return { limit, offset: 0, isEveryGeneration, cursor };
}

/** The refusal of a cursor whose walk cannot go on. */
export function unusableCursor(text: string): Fault {
  return invalid('invalid_parameter', 'cursor', `cursor: ${text}`);
}

function namePosition([name, epoch, renames, checksum]: readonly unknown[]): NamePosition {
  return {
    name: string(name),
    epoch: whole(epoch),
    renames: whole(renames),
    checksum: checksum === null ? undefined : whole(checksum),
  };
}

function textOf(fields: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

function fieldsOf(text: string): readonly unknown[] {
  if (text.length > TEXT_LENGTH_MAX) throw unreadable();
  try {
    const fields: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (Array.isArray(fields)) return fields;
  } catch {
    // Refused below.
  }
  throw unreadable();
}

function whole(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw unreadable();
}

function string(value: unknown): string {
  if (typeof value === 'string') return value;
  throw unreadable();
}

function unreadable(): Fault {
  return unusableCursor('none that this list has given out');
}
