import type { Round } from '#bench/load/closed-rounds';
import type { ClosedResult } from '#bench/load/wrk';
import { spreadOf, spreadText } from '#bench/measures/statistics';
import { LABELS, TITLES } from '#bench/processes/servers';
import { cpuOf, tableOf } from '#bench/report-table';

/**
 * Report section for the rounds with `connections` connections; empty without such rounds. If
 * `isNamed`, rows show the server's title beside its letter.
 */
export function closedOf(
  heading: string,
  rounds: readonly Round[],
  connections: number,
  isNamed: boolean,
): string {
  const measured = rounds.filter((round) => round.connections === connections);
  const labels = LABELS.filter((label) => measured.some((round) => round.results.has(label)));
  if (labels.length === 0) return '';
  const isAnyVoid = measured.some((round) =>
    [...round.results.values()].some(({ problem }) => problem !== undefined),
  );
  const rows = labels.map((label) => {
    const all = measured.flatMap((round) => round.results.get(label) ?? []);
    const valid = all.filter(({ problem }) => problem === undefined);
    const over = (read: (result: ClosedResult) => number, decimals: number) =>
      spreadText(spreadOf(valid.map(read)), decimals);
    return [
      isNamed ? `(${label}) ${TITLES[label]}` : `(${label})`,
      over((result) => result.requestsPerS, 0),
      over((result) => result.p50Ms, 2),
      over((result) => result.p99Ms, 2),
      cpuOf(valid),
      ...(isAnyVoid ? [`${valid.length}/${all.length}`] : []),
    ];
  });
  const head = [
    ...['', 'requests/s', 'p50 ms', 'p99 ms', 'CPU µs per request'],
    ...(isAnyVoid ? ['valid rounds'] : []),
  ];
  return [`## ${heading}`, tableOf(head, rows), ...problemsOf(measured)].join('\n\n');
}

function problemsOf(rounds: readonly Round[]): string[] {
  const problems = rounds.flatMap((round, i) =>
    [...round.results].flatMap(([label, { problem }]) =>
      problem === undefined ? [] : [`- round ${i + 1}, (${label}) is void: ${problem}`],
    ),
  );
  return problems.length === 0 ? [] : [problems.join('\n')];
}
