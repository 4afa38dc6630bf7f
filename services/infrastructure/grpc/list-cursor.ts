import { type Fault, invalid } from '#errors/fault';

/*
 * Cursors of lists: positions at which a listing continues (decision 281). The text is opaque to
 * callers: base64url of a JSON list. A cursor contains no secret. A forged cursor shows only rows
 * of the caller's own lists.
 */

/** Orders of a listing of instances. */
type InstancesSort = 'created_at' | 'name' | 'changed_at';

/** Filter of a list of instances. An instance must pass every part. */
export type InstanceFilter = {
  /** Wanted stress states, as bits at their positions in `STRESS_STATES`. Absent: all. */
  readonly stress?: number;
  /** Wanted drift levels, as bits at their positions in `DRIFT_LEVELS`. Absent: all. */
  readonly drift?: number;
  /** Wanted leading modes, as bits at their positions in `LEADING_MODES`. Absent: all. */
  readonly modes?: number;
  /** Wanted tags: keys with their values, sorted by key. */
  readonly tags: readonly (readonly [key: string, value: string])[];
};

/** Position in a listing of an account's instances. */
export type InstancesCursor = {
  readonly sort: InstancesSort;
  readonly order: 'asc' | 'desc';
  readonly search: string | undefined;
  readonly filter?: InstanceFilter | undefined;
  /** Number of rows shown so far. */
  readonly seen: number;
  /** Creation time and id of the last row shown. */
  readonly createdAtMs: number;
  readonly instanceId: string;
  /** Position of the last row among the names, if the listing is sorted by name. */
  readonly byName: NamePosition | undefined;
  /** Time of the newest change of the last row, if the listing is sorted by this time. */
  readonly changedAtMs?: number | undefined;
};

/** Requested listing page. Source: interface 4.1. */
export type ListingPage = {
  readonly limit: number;
  readonly offset: number;
  readonly sort: InstancesSort;
  readonly order: 'asc' | 'desc';
  /** Part of the name in any case, or of the id; undefined: all instances (decision 254). */
  readonly search?: string | undefined;
  /** Wanted values; undefined: all instances. Needs an index. */
  readonly filter?: InstanceFilter | undefined;
  /**
   * Cursor to continue from; undefined: start at `offset`. Sort, order and search must equal the
   * cursor's.
   */
  readonly cursor?: InstancesCursor | undefined;
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

/** Maximum number of tags in a filter. */
export const FILTER_TAGS_MAX = 4;

/** Maximum size of the tags in a filter as JSON, in bytes. */
export const FILTER_TAGS_BYTES_MAX = 3_072;

/**
 * Maximum length of a cursor of instances. The cursor contains the search, a name and the tags of
 * the filter. A request with the cursor must have less than 8 KiB of headers.
 */
export const INSTANCES_CURSOR_LENGTH_MAX = 6_144;

const TEXT_LENGTH_MAX = 1_024;

/** Encodes a cursor of instances. */
export function instancesCursorText(cursor: InstancesCursor): string {
  const { sort, order, search = null, seen, createdAtMs, instanceId, byName } = cursor;
  const { filter, changedAtMs } = cursor;
  const names =
    byName === undefined
      ? []
      : [byName.name, byName.epoch, byName.renames, byName.checksum ?? null];
  const list = [sort, order, search, seen, createdAtMs, instanceId, ...names];
  if (filter === undefined && changedAtMs === undefined) return textOf(['i', ...list]);
  const { stress = null, drift = null, modes = null, tags = [] } = filter ?? {};
  const filtered = filter === undefined ? null : [stress, drift, modes, tags];
  return textOf(['f', filtered, changedAtMs ?? null, ...list]);
}

/** Encodes a cursor of records. */
export function recordsCursorText(cursor: RecordsCursor): string {
  const { list, instanceId, isEveryGeneration, seen, before, start } = cursor;
  return textOf([list, instanceId, isEveryGeneration, seen, before, start]);
}

/** Decodes a cursor of instances. Throws `invalid_parameter`. */
export function instancesCursorFrom(text: string): InstancesCursor {
  const [list, ...fields] = fieldsOf(text, INSTANCES_CURSOR_LENGTH_MAX);
  if (list === 'i') return byRow(cursorFrom(fields));
  const [filter, changedAtMs, ...rest] = fields;
  const cursor = cursorFrom(rest);
  if (list !== 'f' || (changedAtMs === null) === (cursor.sort === 'changed_at')) throw unreadable();
  return {
    ...cursor,
    ...(filter === null ? {} : { filter: filterFrom(filter) }),
    ...(changedAtMs === null ? {} : { changedAtMs: whole(changedAtMs) }),
  };
}

/** A cursor that needs no time of a change. */
function byRow(cursor: InstancesCursor): InstancesCursor {
  if (cursor.sort !== 'changed_at') return cursor;
  throw unreadable();
}

function filterFrom(filter: unknown): InstanceFilter {
  const [stress, drift, modes, tags]: unknown[] = Array.isArray(filter) ? filter : [];
  if (!Array.isArray(tags) || tags.length > FILTER_TAGS_MAX) throw unreadable();
  if ([stress, drift, modes].every((bits) => bits === null) && tags.length === 0) {
    throw unreadable();
  }
  return {
    ...(stress === null ? {} : { stress: bits(stress) }),
    ...(drift === null ? {} : { drift: bits(drift) }),
    ...(modes === null ? {} : { modes: bits(modes) }),
    tags: tags.map(tagFrom),
  };
}

function tagFrom(tag: unknown): readonly [string, string] {
  const [key, value]: unknown[] = Array.isArray(tag) ? tag : [];
  return [string(key), string(value)];
}

/** Bits for the values of a list, of which the longest has eight. */
function bits(value: unknown): number {
  if (whole(value) >= 1 && whole(value) < 2 ** 8) return whole(value);
  throw unreadable();
}

function cursorFrom(fields: readonly unknown[]): InstancesCursor {
  const [sort, order, search, seen, createdAtMs, instanceId, ...names] = fields;
  const isSort = sort === 'created_at' || sort === 'name' || sort === 'changed_at';
  const isOrder = order === 'asc' || order === 'desc';
  const isSearch = search === null || typeof search === 'string';
  if (!isSort || !isOrder || !isSearch) throw unreadable();
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
  const { sort, order, search, filter } = cursor;
  const page = { limit, offset: 0, sort, order, search, cursor };
  return filter === undefined ? page : { ...page, filter };
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

function fieldsOf(text: string, lengthMax = TEXT_LENGTH_MAX): readonly unknown[] {
  if (text.length > lengthMax) throw unreadable();
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
