import { type Fault, invalid } from '#errors/fault';

/*
 * Cursors of lists: positions at which a listing continues (decision 281). The text is opaque to
 * callers: base64url of a JSON list. A cursor contains no secret. A forged cursor shows only rows
 * of the caller's own lists.
 */

/** Position in a listing of an account's instances. */
export type InstancesCursor = {
  readonly sort: 'created_at' | 'name';
  readonly order: 'asc' | 'desc';
  readonly search: string | undefined;
  /** Number of rows shown so far. */
  readonly seen: number;
  /** Creation time and id of the last row shown. */
  readonly createdAtMs: number;
  readonly instanceId: string;
  /** Position of the last row among the names, if the listing is sorted by name. */
  readonly byName: NamePosition | undefined;
};

/** Position among the names when the listing began. */
type NamePosition = {
  readonly name: string;
  /** Epoch of the directory in memory that counted `renames`. */
  readonly epoch: number;
  /** Number of renames that the directory had seen when the listing began. */
  readonly renames: number;
  /**
   * Checksum of all rows at the last page. Undefined if an instance was renamed since the listing
   * began.
   */
  readonly checksum: number | undefined;
};

/** Position in a listing of an instance's history or drift events. */
export type RecordsCursor = {
  readonly list: 'history' | 'drift';
  readonly instanceId: string;
  readonly isEveryGeneration: boolean;
  readonly seen: number;
  /** Ordinal of the last row shown. The next page begins below it. */
  readonly before: number;
  /**
   * Ordinal just below the listing's last row. Fixed when the listing begins, so that a reset does
   * not move the end.
   */
  readonly start: number;
};

const TEXT_LENGTH_MAX = 1_024;

/** Encodes a cursor of instances. */
export function instancesCursorText(cursor: InstancesCursor): string {
  const { sort, order, search = null, seen, createdAtMs, instanceId, byName } = cursor;
  const names =
    byName === undefined
      ? []
      : [byName.name, byName.epoch, byName.renames, byName.checksum ?? null];
  return textOf(['i', sort, order, search, seen, createdAtMs, instanceId, ...names]);
}

/** Encodes a cursor of records. */
export function recordsCursorText(cursor: RecordsCursor): string {
  const { list, instanceId, isEveryGeneration, seen, before, start } = cursor;
  return textOf([list, instanceId, isEveryGeneration, seen, before, start]);
}

/** Decodes a cursor of instances. Throws `invalid_parameter`. */
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

/** Decodes a cursor of records. Throws `invalid_parameter`. */
export function recordsCursorFrom(text: string, list: RecordsCursor['list']): RecordsCursor {
  const [found, id, isEveryGeneration, seen, before, start] = fieldsOf(text);
  if (found !== list || typeof isEveryGeneration !== 'boolean') throw unreadable();
  const ordinals = { seen: whole(seen), before: whole(before), start: whole(start) };
  return { list, instanceId: string(id), isEveryGeneration, ...ordinals };
}

/** Page request for a cursor of instances. The cursor contains everything but `limit`. */
export function pageOfInstances(limit: number, cursor: InstancesCursor) {
  const { sort, order, search } = cursor;
  return { limit, offset: 0, sort, order, search, cursor };
}

/** Page request for a cursor of records. */
export function pageOfRecords(limit: number, cursor: RecordsCursor) {
  const { isEveryGeneration } = cursor;
  return { limit, offset: 0, isEveryGeneration, cursor };
}

/** Refusal of a cursor with which the listing cannot continue. */
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
    // An invalid text is refused below.
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
  return unusableCursor('not a cursor of this list');
}
