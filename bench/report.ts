import { AGED_RATIO_MAX, type JournalAppends } from '#bench/durable/journal-appends';
import type { DurableFindings } from '#bench/durable/measure';
import { durableReport } from '#bench/durable/report';
import { durableTargets } from '#bench/durable/targets';
import type { LimiterFindings } from '#bench/limiter/findings';
import { limiterReport, limiterTargets } from '#bench/limiter/limiter-report';
import { closedOf } from '#bench/load/closed-report';
import { CONNECTIONS, type Round } from '#bench/load/closed-rounds';
import type { OpenRow } from '#bench/load/open-rounds';
import type { ColdStart } from '#bench/measures/cold-start';
import type { Circumstance } from '#bench/measures/machine';
import type { MemoryResult } from '#bench/measures/memory';
import { BYTES_PER_MIB, numberText, spreadOf, spreadText } from '#bench/measures/statistics';
import { LABELS, TITLES } from '#bench/processes/servers';
import { runFacts, type TargetRow, tableOf, targetTable } from '#bench/report-table';
import { COLD_START_MS_MAX, INSTANCE_BYTES_MAX, ratiosOf } from '#bench/targets';
import { wrapped } from '#deploy/documents/wrapped-text';

/** Results of a run; skipped parts are empty. */
export type Findings = {
  readonly command: string;
  readonly circumstances: readonly Circumstance[];
  readonly answerBytes: number | undefined;
  readonly rounds: readonly Round[];
  readonly open: readonly OpenRow[];
  readonly durable: readonly DurableFindings[];
  /** Seconds of load on a durable service before the measurement. */
  readonly checkpointS: number;
  readonly coldStarts: readonly ColdStart[];
  readonly memory: MemoryResult | undefined;
  readonly journal: JournalAppends | undefined;
  readonly limiter: LimiterFindings | undefined;
  /** Duration of the run in seconds. */
  readonly seconds: number;
};

/** Report in Markdown: medians, with minimum and maximum in parentheses. */
export function reportOf(findings: Findings): string {
  const parts = [
    headOf(findings),
    targetsOf(findings),
    ...CONNECTIONS.map((connections, index) =>
      closedOf(
        `Closed model, ${connections} connections`,
        findings.rounds,
        connections,
        index === 0,
      ),
    ),
    openOf(findings.open),
    ...durableReport(findings.durable, findings.checkpointS),
    limiterReport(findings.limiter),
    memoryOf(findings.memory),
    journalOf(findings.journal),
  ];
  return `${wrapped(parts.filter((part) => part !== '').join('\n\n'))}\n`;
}

function headOf(findings: Findings): string {
  const { command, circumstances, answerBytes, seconds } = findings;
  const answer = { name: 'Answer', value: `${numberText(answerBytes ?? 0, 0)} bytes` };
  const facts = runFacts(command, [
    ...circumstances,
    ...(answerBytes === undefined ? [] : [answer]),
    { name: 'Duration', value: `${numberText(seconds, 0)} s` },
  ]);
  return [`# ${titleOf(findings)}`, readingOf(findings), facts].join('\n\n');
}

/** Labels named in the introduction at most; tables name further servers. */
const INTRODUCED_MAX = 4;

/** How to read the tables: names of the servers, ratios, and what a cell contains. */
function readingOf({ rounds, durable }: Findings): string {
  const all = [...rounds, ...durable.flatMap((comparison) => comparison.rounds)];
  const measured = new Set(
    (rounds.length > 0 ? rounds : all).flatMap(({ results }) => [...results.keys()]),
  );
  const labels = LABELS.filter((label) => measured.has(label));
  const names = labels.map((label) => `(${label}) ${TITLES[label]}`).join('; ');
  const reference = labels.includes('c') ? 'c' : 'pg';
  const own = labels.find((label) => !['a', 'c'].includes(label)) ?? 's';
  const counts = Map.groupBy(all, ({ connections }) => connections).values();
  const isRepeated = durable.length > 1 || [...counts].some(({ length }) => length > 1);
  const isFilePage = labels.join() === 'c,e';
  const compared = isFilePage
    ? 'the service on one SQLite file (e) with a stateless Fastify server with ajv (c)'
    : 'the service with reference servers';
  const introduced =
    labels.length > 0 && labels.length <= INTRODUCED_MAX
      ? [`The servers are ${names}.`]
      : ['Servers have short names such as (d). The first row of a server gives its full name.'];
  return [
    `This page compares ${compared}.`,
    'The service includes authentication, limiter, metrics and model.',
    ...(isFilePage ? [] : introduced),
    `\`${own} / ${reference}\` is the throughput of (${own}) divided by the throughput of (${reference}) in the same round.`,
    isRepeated
      ? 'A cell is the median of all rounds, followed by (smallest..largest).'
      : 'This run had one round, so each cell is one value.',
    'p50 and p99 are latencies: 50 % and 99 % of the requests were at most this slow.',
    'The load generator (wrk) and the servers share the machine.',
    '[docs/scale.md](../docs/scale.md#targets-not-met) explains missed targets.',
  ].join(' ');
}

/** Title of the report. If only durable servers ran, the title names their store. */
function titleOf({ rounds, durable }: Findings): string {
  if (rounds.length > 0 || durable.length === 0) return 'Benchmark results';
  const runs = durable.flatMap((comparison) => comparison.rounds);
  const labels = new Set(runs.flatMap(({ results }) => [...results.keys()]));
  const isOnFile = labels.has('e') && !labels.has('d') && !labels.has('d50');
  return isOnFile ? 'Benchmark of one SQLite file' : 'Benchmark of durable storage';
}

const LIMITER_ROWS = 'The section [Limiter](#limiter) explains the rows with l, r and redis.';

function targetsOf({ rounds, durable, limiter, coldStarts, memory, journal }: Findings): string {
  const rows: TargetRow[] = ratiosOf(rounds).map(({ label, connections, least, reached }) => ({
    what: `${label} / c at ${connections} connections`,
    target: `≥ ${numberText(least, 2)}`,
    reached: spreadText(reached, 2),
    isMet: reached.median >= least,
  }));
  rows.push(
    ...durableTargets(durable.flatMap((comparison) => comparison.rounds)),
    ...limiterTargets(limiter),
  );
  for (const { command, ms } of coldStarts) {
    const spread = spreadOf(ms);
    rows.push({
      what: `\`${command}\` to first answer`,
      target: `≤ ${numberText(COLD_START_MS_MAX, 0)} ms`,
      reached: `${spreadText(spread, 0)} ms`,
      isMet: spread.median <= COLD_START_MS_MAX,
    });
  }
  if (memory !== undefined) {
    const bytes = memory.bytesPerInstance;
    rows.push({
      what: 'an idle active instance',
      target: `≤ ${numberText(INSTANCE_BYTES_MAX, 0)} bytes`,
      reached: `${numberText(bytes, 0)} bytes`,
      isMet: bytes <= INSTANCE_BYTES_MAX,
    });
  }
  if (journal !== undefined) {
    const ratio = journal.agedP50Ms / journal.freshP50Ms;
    rows.push({
      what: `append p50 after ${numberText(journal.droppedSlots, 0)} truncated slots / fresh`,
      target: `≤ ${numberText(AGED_RATIO_MAX, 2)}`,
      reached: numberText(ratio, 2),
      isMet: ratio <= AGED_RATIO_MAX,
    });
  }
  if (rows.length === 0) return '';
  const note = limiter === undefined ? '' : `${LIMITER_ROWS}\n\n`;
  return `## Targets\n\n${note}${targetTable(rows)}`;
}

function openOf(open: readonly OpenRow[]): string {
  if (open.length === 0) return '';
  const rows = open.map(({ label, requestsPerS, result, attempts }) => {
    const { p50Ms, p99Ms, maxMs, problem } = result;
    const figures =
      problem === undefined
        ? [p50Ms, p99Ms, maxMs].map((ms) => numberText(ms, 2))
        : [`void: ${problem}`, '', ''];
    return [`(${label})`, numberText(requestsPerS, 0), ...figures, `${attempts}`];
  });
  const note =
    'k6 starts requests at a fixed rate, and waits for no answer. Latencies include the time that ' +
    'k6 needs on the same cores. A run with a dropped or wrong request is void. A void run is ' +
    'repeated once.';
  const table = tableOf(['', 'requests/s', 'p50 ms', 'p99 ms', 'longest ms', 'attempts'], rows);
  return `## Open model\n\n${note}\n\n${table}`;
}

function journalOf(journal: JournalAppends | undefined): string {
  if (journal === undefined) return '';
  const { droppedSlots, freshP50Ms, agedP50Ms, filledS } = journal;
  const sentence =
    `An append to a fresh journal took ${numberText(freshP50Ms, 2)} ms (p50), and an append to an ` +
    `aged journal ${numberText(agedP50Ms, 2)} ms. The aged journal has ` +
    `${numberText(droppedSlots, 0)} truncated slots and is flushed to disk. The benchmark filled ` +
    `the aged journal in ${numberText(filledS, 0)} s.`;
  return `## Journal\n\n${sentence}`;
}

function memoryOf(memory: MemoryResult | undefined): string {
  if (memory === undefined) return '';
  const rows = memory.stages.map((stage) => [
    stage.title,
    `${numberText(stage.uncollectedBytes / BYTES_PER_MIB, 0)}`,
    `${numberText(stage.residentBytes / BYTES_PER_MIB, 0)}`,
    `${numberText(stage.liveBytes / BYTES_PER_MIB, 1)}`,
  ]);
  const [first] = memory.stages;
  const last = memory.stages[3];
  const residentBytes = (last?.residentBytes ?? 0) - (first?.residentBytes ?? 0);
  const sentence =
    `The benchmark added ${numberText(memory.instances, 0)} instances to a warm standalone process. ` +
    `At the end, ${numberText(memory.active, 0)} instances were active (in memory). An idle active ` +
    `instance takes ${numberText(memory.bytesPerInstance, 0)} live bytes without its history row, ` +
    `and ${numberText(residentBytes / memory.instances, 0)} resident bytes with the row. Each ` +
    `further cycle adds ${numberText(memory.bytesPerRow, 0)} bytes.`;
  const head = ['', 'resident MiB', 'resident MiB after collection', 'live MiB (heap, buffers)'];
  return `## Memory\n\n${sentence}\n\n${tableOf(head, rows)}`;
}
