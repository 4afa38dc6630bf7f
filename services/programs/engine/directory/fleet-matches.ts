import assert from 'node:assert/strict';
import { UNKNOWN_FLAGS } from '#engine/directory/flag-counts';
import { type FleetColumns, type IndexedRow, UNKNOWN_TAGS } from '#engine/directory/fleet-columns';
import type { TagSets } from '#engine/directory/tag-sets';
import type { InstanceFilter } from '#grpc/list-cursor';
import { type Flags, levelIn, modeIn, stressIn } from '#identity/transitions';

/** Maximum number of matches that are returned as rows. A page of them takes a few milliseconds. */
const FEW_MAX = 16_384;

/** Values of an instance for a list. Undefined: unknown. */
type ListedValues = {
  readonly flags: Flags | undefined;
  readonly changedAtMs: number | undefined;
};

/**
 * Instances that pass a filter at one time. Valid until the next change or the next filter, unless
 * `keep` is called before.
 */
export interface Matches {
  /** Undefined: all instances pass. */
  readonly total: number | undefined;
  /** The rows, if they are few; else undefined. In a scattered order. */
  readonly rows: readonly IndexedRow[] | undefined;
  has(row: IndexedRow): boolean;
  valuesOf(row: IndexedRow): ListedValues;
  /** Times of the newest changes, in a scattered order of the instances. Yields now and then. */
  changes(take: (row: IndexedRow, changedAtMs: number) => void): Generator<undefined, void>;
  /** Copies the instances with their values. Takes a few milliseconds for a million instances. */
  keep(): void;
}

const ALL = { found: undefined, total: undefined };

/** Instances that pass a filter now. An instance with unknown values does not pass. */
export function matchesIn(
  columns: FleetColumns,
  tagSets: TagSets,
  filter: InstanceFilter | undefined,
): Matches {
  const { found, total } = filter === undefined ? ALL : passing(columns, tagSets, filter);
  let kept: KeptColumns | undefined;
  const values = (): KeptColumns => kept ?? columns;
  const isFound = (slot: number) => found === undefined || found[slot] === 1;
  return {
    total,
    rows: found === undefined || Number(total) > FEW_MAX ? undefined : rowsAt(columns, found),
    has: ({ slot }) => isFound(slot),
    valuesOf: ({ slot }) => {
      const { [slot]: flags = UNKNOWN_FLAGS } = values().flags;
      const { [slot]: atMs = Number.NaN } = values().changedAtMs;
      return {
        flags: flags === UNKNOWN_FLAGS ? undefined : flags,
        changedAtMs: Number.isNaN(atMs) ? undefined : atMs,
      };
    },
    *changes(take) {
      for (const range of columns.blocks()) {
        changesIn(range, values(), isFound, take);
        yield;
      }
    },
    keep: () => {
      const { flags, changedAtMs, rows } = columns;
      kept = { flags: flags.slice(), changedAtMs: changedAtMs.slice(), rows: rows.slice() };
      if (found !== undefined) columns.keepBitmap();
    },
  };
}

type KeptColumns = Pick<FleetColumns, 'flags' | 'changedAtMs' | 'rows'>;

function changesIn(
  [start, end]: readonly [start: number, end: number],
  { rows, changedAtMs }: KeptColumns,
  isFound: (slot: number) => boolean,
  take: (row: IndexedRow, changedAtMs: number) => void,
): void {
  for (let slot = start; slot < end; slot += 1) {
    const row = isFound(slot) ? rows[slot] : undefined;
    const atMs = changedAtMs[slot] as number;
    if (row !== undefined) take(row, Number.isNaN(atMs) ? row.createdAtMs : atMs);
  }
}

/** 1 at the slots of the instances that pass, and their number. */
function passing(columns: FleetColumns, tagSets: TagSets, filter: InstanceFilter) {
  const ofFlags = flagsTest(filter);
  const { tags: wanted } = filter;
  assert(ofFlags || wanted.length > 0, 'the slots of removed instances pass an empty filter');
  const having = wanted.length === 0 ? undefined : tagSets.having(wanted);
  // Locals, because each loop then reads arrays of a single type, which is several times faster.
  const { flags, tags } = columns;
  const found = columns.bitmap();
  let total = 0;
  for (let slot = 0; slot < columns.slots; slot += 1) {
    if (ofFlags !== undefined && !ofFlags(flags[slot] as number)) continue;
    if (having !== undefined) {
      const number = tags[slot] as number;
      if (number === UNKNOWN_TAGS || having[number] !== 1) continue;
    }
    found[slot] = 1;
    total += 1;
  }
  return { found, total };
}

function rowsAt(columns: FleetColumns, found: Uint8Array): IndexedRow[] {
  const rows: IndexedRow[] = [];
  for (const [start, end] of columns.blocks()) {
    for (let slot = start; slot < end; slot += 1) {
      const row = found[slot] === 1 ? columns.rows[slot] : undefined;
      if (row !== undefined) rows.push(row);
    }
  }
  return rows;
}

/** Whether flags pass a filter; undefined if the filter does not depend on flags. */
function flagsTest({ stress, drift, modes }: InstanceFilter) {
  if (stress === undefined && drift === undefined && modes === undefined) return undefined;
  const [ofStress, ofDrift, ofModes] = [stress ?? ~0, drift ?? ~0, modes ?? ~0];
  return (flags: Flags) =>
    flags !== UNKNOWN_FLAGS &&
    ((ofStress >>> stressIn(flags)) &
      (ofDrift >>> levelIn(flags)) &
      (ofModes >>> modeIn(flags)) &
      1) ===
      1;
}
