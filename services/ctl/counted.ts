/** A count with its noun, which is in the plural but for one. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** What an account has, as the last lines of commands say it. */
export function countedRows(rows: {
  readonly instances: number;
  readonly observations: number;
  readonly drift_events: number;
}): string {
  const { instances, observations, drift_events } = rows;
  const history = `${counted(observations, 'observation')}, ${counted(drift_events, 'drift event')}`;
  return `${counted(instances, 'instance')}, ${history}`;
}
