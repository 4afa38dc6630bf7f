import type { TrimCommand } from '#grpc/engine-messages';

/** Fields of a row in a page. The fields identify a floor. */
export type ShownRow = {
  readonly generation: number;
  readonly cycle: number;
  readonly timestamp: string;
};

/** Whether a row belongs to the observation of `last` or to an earlier observation. */
export function isUpTo(row: ShownRow, last: ShownRow): boolean {
  return row.generation < last.generation
    ? true
    : row.generation === last.generation && row.cycle <= last.cycle;
}

/**
 * Returns the command that deletes the oldest `count` observations. `rows` and `drift` are all rows
 * since the creation of the instance, oldest first. The command has no model state at the floor.
 */
export function trimOf(
  rows: readonly ShownRow[],
  drift: readonly ShownRow[],
  count: number,
): TrimCommand {
  const last = rows[count - 1];
  if (last === undefined) throw new Error(`fewer than ${count} rows exist`);
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
