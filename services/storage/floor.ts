import assert from 'node:assert/strict';

/** How many of an instance's oldest rows are meant, in each of the tables: counted for life. */
export type RowCounts = { readonly history: number; readonly drift: number };

/** Of an instance that still has all its rows. */
export const NO_ROWS_TRIMMED: RowCounts = { history: 0, drift: 0 };

/**
 * Below which rows an instance has none any more, because they were older than its account keeps them
 * (decision 234): the observations up to the ordinal `history`, and the drift events that they brought.
 */
export type Floor = RowCounts & {
  /** Of the last observation below the floor: its generation, cycle and time. */
  readonly generation: number;
  readonly cycle: number;
  readonly timestampMs: number;
  /**
   * The model's state after that observation (`packedState`), from which the rows above can be run
   * again; undefined where it was not known.
   */
  readonly state: string | undefined;
};

/** Bytes of one number of a state. */
const NUMBER_BYTES = 8;

/** A model's state as a text of a character for each byte, which takes less memory than an array. */
export function packedState(state: Float64Array): string {
  const bytes = Buffer.alloc(NUMBER_BYTES * state.length);
  for (const [place, value] of state.entries()) bytes.writeDoubleLE(value, NUMBER_BYTES * place);
  return bytes.toString('latin1');
}

/** The state of such a text. */
export function unpackedState(packed: string): Float64Array {
  const bytes = Buffer.from(packed, 'latin1');
  assert(bytes.length % NUMBER_BYTES === 0, 'a state is whole numbers of eight bytes');
  return Float64Array.from({ length: bytes.length / NUMBER_BYTES }, (_, place) =>
    bytes.readDoubleLE(NUMBER_BYTES * place),
  );
}

/** The rows of an instance that are gone. */
export function trimmedOf({ floor }: { readonly floor?: Floor | undefined }): RowCounts {
  return floor ?? NO_ROWS_TRIMMED;
}
