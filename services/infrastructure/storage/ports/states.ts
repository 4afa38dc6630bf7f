import { ByteWriter, CorruptState, readerOf } from '#storage/ports/bytes';

/**
 * Reason for which a state is stored.
 *
 * - `spaced`: The number of observations is a multiple of `STATE_SPACING`.
 * - `model`: The observation is the first observation under another model.
 * - `initial`, `default`: A reset of this mode began a generation.
 * - `forked`: The instance was forked from another instance.
 */
export type StateCause = (typeof STATE_CAUSES)[number];

/** Causes in the order of their stored numbers. Causes may be appended, but never moved. */
export const STATE_CAUSES = ['spaced', 'model', 'initial', 'default', 'forked'] as const;

/** Observations between two stored states. With 900 bytes each, 3.5 bytes per observation. */
export const STATE_SPACING = 256;

/** Position in the past of an instance. Positions are ordered by generation, then by cycle. */
export type StatePosition = { readonly generation: number; readonly cycle: number };

/** Stored state of an instance at a past position. The content of a position never changes. */
export type StateRow = StatePosition & {
  /** Number of observations in all generations up to this state. */
  readonly ordinal: number;
  readonly cause: StateCause;
  /** Start of the generation, in Unix milliseconds. */
  readonly originMs: number;
  /** Time of the last observation in this generation. Undefined if there is none. */
  readonly observedAtMs: number | undefined;
  readonly modelVersion: string;
  /** Model state (`packedState`). */
  readonly state: string;
};

/** Positions from `from` to `to`, both included. */
export type StateRange = {
  readonly from: StatePosition;
  readonly to: StatePosition;
  /** Maximum number of states. */
  readonly limit: number;
  readonly isNewestFirst: boolean;
};

/** Position after all stored states. */
const LAST_POSITION: StatePosition = {
  generation: Number.MAX_SAFE_INTEGER,
  cycle: Number.MAX_SAFE_INTEGER,
};

/** Number of states per page for tools: 230 KiB. */
const PAGE_STATES = 256;

/** All stored states of an instance in pages, oldest first. Rejects as the store does. */
export async function* statePages(
  store: { readStates(instanceId: string, range: StateRange): Promise<StateRow[]> },
  instanceId: string,
): AsyncGenerator<readonly StateRow[]> {
  let from: StatePosition = { generation: 1, cycle: 0 };
  for (;;) {
    const range = { from, to: LAST_POSITION, limit: PAGE_STATES, isNewestFirst: false };
    const page = await store.readStates(instanceId, range);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    from = { generation: last.generation, cycle: last.cycle + 1 };
  }
}

/** Compares two positions, for a sort with the oldest position first. */
export function comparePositions(one: StatePosition, other: StatePosition): number {
  return one.generation - other.generation || one.cycle - other.cycle;
}

/** States of a sorted list within a range. */
export function statesIn(
  rows: readonly StateRow[],
  { from, to, limit, isNewestFirst }: StateRange,
): StateRow[] {
  const within = rows.filter(
    (row) => comparePositions(row, from) >= 0 && comparePositions(row, to) <= 0,
  );
  return (isNewestFirst ? within.reverse() : within).slice(0, limit);
}

/**
 * Format number in the first byte of every stored state. Any change of the layout below needs a new
 * format number.
 */
const FORMAT = 1;

const HAS_OBSERVED_AT = 1;

const writer = new ByteWriter();

/** Encodes a state without its position. */
export function encodeState(row: StateRow): Buffer {
  const { observedAtMs } = row;
  writer
    .begin(FORMAT)
    .byte(observedAtMs === undefined ? 0 : HAS_OBSERVED_AT)
    .byte(STATE_CAUSES.indexOf(row.cause))
    .number(row.ordinal)
    .number(row.originMs);
  if (observedAtMs !== undefined) writer.number(observedAtMs);
  return writer.text(row.modelVersion).part(row.state).end();
}

/** Decodes a stored state. Throws `CorruptState`. */
export function decodeState(instanceId: string, at: StatePosition, bytes: unknown): StateRow {
  const { generation, cycle } = at;
  const what = `the state at cycle ${cycle} of generation ${generation} of ${instanceId}`;
  const reader = readerOf(bytes, FORMAT, what);
  const has = reader.flags(HAS_OBSERVED_AT);
  const cause = STATE_CAUSES[reader.byte()];
  if (cause === undefined) throw new CorruptState(`${what} has an unknown cause`);
  const row: StateRow = {
    generation,
    cycle,
    cause,
    ordinal: reader.number(),
    originMs: reader.number(),
    observedAtMs: (has & HAS_OBSERVED_AT) === 0 ? undefined : reader.number(),
    modelVersion: reader.text(),
    state: reader.part(),
  };
  reader.end();
  return row;
}
