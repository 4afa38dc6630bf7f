import type { HistoryRow } from '#storage/ports/instances';
import type { Findings } from '#test/chaos/checks/findings';
import { markIn } from '#test/chaos/checks/replayed-history';
import type { StoredInstance } from '#test/chaos/checks/stored-instance';
import { type Call, hasHappened, type SentObservation } from '#test/chaos/load/call-log';
import type { InstanceCalls } from '#test/chaos/load/instance-calls';

/**
 * Checks the history rows. Every acknowledged observation has one row with the sent values, and the
 * rows of a call are adjacent. Refused and throttled calls have no rows. A call with unknown
 * outcome has all its rows or none.
 */
export function checkRows(
  { id, head, history }: StoredInstance,
  { writes }: InstanceCalls,
  findings: Findings,
): void {
  if (history.length !== head?.historyCount) {
    findings.add(
      `${id}: ${history.length} rows are stored, but the head counts ${head?.historyCount}`,
    );
  }
  const rows = new Map<string, HistoryRow>();
  for (const [place, row] of history.entries()) {
    if (row.ordinal !== place + 1) findings.add(`${id}: row ${place + 1} is missing`);
    const mark = markIn(row);
    const twin = rows.get(mark);
    if (twin !== undefined) {
      findings.add(
        `${id}: observation ${mark} is stored twice, in rows ${twin.ordinal} and ${row.ordinal}`,
      );
    }
    rows.set(mark, row);
  }
  const sent = new Set<string>();
  for (const call of writes) {
    if (call.requested.kind !== 'process') continue;
    for (const { mark } of call.requested.observations) sent.add(mark);
    checkCall(id, call, call.requested.observations, rows, findings);
  }
  for (const mark of rows.keys()) {
    if (!sent.has(mark)) findings.add(`${id}: no call sent observation "${mark}"`);
  }
}

function checkCall(
  id: string,
  call: Call,
  observations: readonly SentObservation[],
  rows: ReadonlyMap<string, HistoryRow>,
  findings: Findings,
): void {
  const found = observations.map(({ mark }) => rows.get(mark)).filter((row) => row !== undefined);
  const { kind } = call.outcome;
  if (found.length === 0) {
    if (hasHappened(call)) findings.add(`${id}: acknowledged call ${call.id} is lost`);
    return;
  }
  if (found.length < observations.length) {
    findings.add(
      `${id}: only ${found.length} of ${observations.length} observations ` +
        `of call ${call.id} are stored`,
    );
  }
  if (kind === 'refused' || kind === 'throttled') {
    findings.add(`${id}: call ${call.id} was ${kind}, but it is stored`);
  }
  const first = found[0]?.ordinal ?? 0;
  for (const [place, observation] of observations.entries()) {
    const row = rows.get(observation.mark);
    if (row === undefined) continue;
    if (row.ordinal !== first + place) {
      findings.add(`${id}: the rows of call ${call.id} are not adjacent`);
    }
    if (!isAsSent(row, observation)) {
      findings.add(`${id}: observation ${observation.mark} was sent with other values`);
    }
  }
}

function isAsSent(row: HistoryRow, sent: SentObservation): boolean {
  return (
    row.mode === sent.mode &&
    row.signal === sent.signal &&
    row.confidence === sent.confidence &&
    row.timestampMs === sent.timestampMs
  );
}

/** Calls that sent the rows of a history, in row order. */
export function authorsOf({ history }: StoredInstance, byMark: ReadonlyMap<string, Call>): Call[] {
  const authors = new Set(history.map((row) => byMark.get(markIn(row))));
  return [...authors].filter((call) => call !== undefined);
}
