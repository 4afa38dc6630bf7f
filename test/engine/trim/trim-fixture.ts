import type { TrimCommand } from '#grpc/engine-messages';

/** Rows as in a page, by which a floor is named. */
export type ShownRow = {
  readonly generation: number;
  readonly cycle: number;
  readonly timestamp: string;
};

/** Whether a row belongs to the same observation as `last`, or to an earlier one. */
export function isUpTo(row: ShownRow, last: ShownRow): boolean {
  return row.generation < last.generation
    ? true
    : row.generation === last.generation && row.cycle <= last.cycle;
}

/**
 * The command that deletes an instance's oldest `count` observations. `rows` and `drift` are all
 * rows that it ever had, oldest first. The state at the floor is not known.
 */
export function trimOf(
  rows: readonly ShownRow[],
  drift: readonly ShownRow[],
  count: number,
): TrimCommand {
  const last = rows[count - 1];
  if (last === undefined) throw new Error(`there are no ${count} rows`);
  const { generation, cycle, timestamp } = last;
  return {
    kind: 'trim',
    history: count,
    drift: drift.filter((row) => isUpTo(row, last)).length,
    generation,
    cycle,
    timestampMs: Date.parse(timestamp),
    state: undefined,
  };
}
