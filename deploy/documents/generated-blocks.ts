import { readFileSync } from 'node:fs';
import { readResults } from '#bench/page/results';
import { APPRAISAL_RULES } from '#clients/typescript/src/agent/appraiser';
import { describeVariables } from '#config';
import { engineWork, unitCosts } from '#ctl/capacity/capacity';
import { CAPACITY } from '#ctl/capacity/command';
import type { Command, Values } from '#ctl/command';
import { synopsis } from '#ctl/command-line';
import { COMMANDS } from '#ctl/ctl';
import { characterLines } from '#deploy/documents/characters';
import { tableLines } from '#deploy/documents/markdown-table';
import { wrapped } from '#deploy/documents/wrapped-text';
import { DASHBOARDS } from '#deploy/observe/dashboards/all';
import { METRICS } from '#telemetry/metrics';
import { LAYERS } from '#test/architecture/map';
import { PLAN_ROWS, planAfterRow } from '#test/billing/plan-table';

/** Table of CPU cost per unit of work, from the figures of `ctl capacity`. */
function unitCostLines(): string[] {
  const { edge, limiter, engine, cassandra } = unitCosts();
  const rows = [
    ['an observation', edge.observation, limiter.observation, engine.observation],
    ['an append of any size', undefined, undefined, engine.append],
    ['a stored head', undefined, undefined, engine.head],
    ['an activation', undefined, undefined, engine.activation],
    ['an idempotency key', edge.keyed, limiter.keyed, engine.keyed],
  ] as const;
  const { observation, append, head, activation, keyed } = cassandra;
  const stored = [observation, append, head, activation, keyed];
  const cell = (us: number | undefined) => (us === undefined ? '-' : us.toFixed(us < 100 ? 1 : 0));
  return tableLines(
    ['µs of CPU for', 'edge', 'limiter', 'engine', 'Cassandra, per copy'],
    rows.map(([work, ...us], place) => [work, ...[...us, stored[place]].map(cell)]),
  );
}

/** Example load in docs/scale.md. */
const EXAMPLE: Values = { observations: '5000', instances: '1000000' };

/** A command with its output. */
function plannedClusterLines(): string[] {
  const args = Object.entries(EXAMPLE).map(([name, value]) => `--${name} ${value}`);
  return [
    '```sh',
    `node services/main.ts ctl capacity ${args.join(' ')}`,
    '```',
    '```',
    CAPACITY.run(EXAMPLE).text,
    '```',
  ];
}

/** Cells of the part `growth` of the benchmark. CPU in µs per observation. */
type GrowthCells = readonly [
  observationsPerS: number,
  p50Ms: number,
  p99Ms: number,
  cpu: { readonly engine: number; readonly cassandra: number },
  recordsPerGroup: number,
  appendMs: number,
  active: number,
];

/** Sentence about computed CPU, divided by measured CPU, in the rows of the part `growth`. */
function accuracyLines(): string[] {
  const rows = readResults()['growth']?.tables?.[0]?.rows ?? [];
  const ratios = rows
    .filter(({ name }) => !name.includes('not in memory'))
    .map(({ cells }) => ratiosOf(cells as unknown as GrowthCells));
  const rangeOf = (part: 'engines' | 'cassandra') => {
    const values = ratios.map((ratio) => ratio[part]);
    return `${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)} times`;
  };
  const sentence =
    `In ${ratios.length} measurements with 100 to 1,000,000 instances, computed CPU for engines is ` +
    `${rangeOf('engines')} the measured CPU. Computed CPU for Cassandra is ` +
    `${rangeOf('cassandra')} the measured CPU.`;
  return wrapped(sentence).split('\n');
}

function ratiosOf([observations, , , cpu, , , active]: GrowthCells) {
  const load = { observations, instances: active, keyedShare: 0, headroom: 0 };
  const { busy, groupRecords, perCheckpoint } = engineWork(load, 1, unitCosts());
  const { observation, append, head } = unitCosts().cassandra;
  const us = observation + append / groupRecords + head / perCheckpoint;
  return { engines: (busy * 1e6) / observations / cpu.engine, cassandra: us / cpu.cassandra };
}

/** A section per dashboard, with purpose, picture and panels. */
function dashboardLines(): string[] {
  return DASHBOARDS.flatMap(({ id, title, about, panels }, place) => [
    ...(place === 0 ? [] : ['']),
    `## ${title}`,
    '',
    about,
    '',
    `![the dashboard ${title}](pictures/dashboard-${id}.svg)`,
    '',
    wrapped(`Panels: ${panels.map((panel) => panel.title).join('; ')}.`),
  ]);
}

/** A generated part of a document; its comments contain `name`. */
type GeneratedBlock = {
  readonly document: string;
  readonly name: string;
  readonly lines: () => readonly string[];
};

/** All generated blocks, by document. */
export const GENERATED_BLOCKS: readonly GeneratedBlock[] = [
  { document: 'docs/configuration.md', name: 'variables', lines: variableLines },
  { document: 'docs/ctl.md', name: 'account commands', lines: () => commandLines('account') },
  { document: 'docs/ctl.md', name: 'cluster commands', lines: () => commandLines('cluster') },
  { document: 'docs/ctl.md', name: 'file commands', lines: () => commandLines('file') },
  { document: 'docs/ctl.md', name: 'stores commands', lines: () => commandLines('stores') },
  { document: 'docs/ctl.md', name: 'planning commands', lines: () => commandLines('planning') },
  { document: 'docs/scale.md', name: 'unit costs', lines: unitCostLines },
  { document: 'docs/scale.md', name: 'planned clusters', lines: plannedClusterLines },
  { document: 'docs/scale.md', name: 'accuracy', lines: accuracyLines },
  { document: 'docs/architecture.md', name: 'layers', lines: layerLines },
  { document: 'docs/metrics.md', name: 'metrics', lines: metricLines },
  { document: 'docs/dashboards.md', name: 'dashboards', lines: dashboardLines },
  { document: 'docs/billing.md', name: 'plans', lines: planLines },
  { document: 'README.md', name: 'agent', lines: agentLines },
  { document: 'docs/agents.md', name: 'rules', lines: ruleLines },
  { document: 'docs/agents.md', name: 'characters', lines: characterLines },
];

/** Code of the first example, without its comment. */
function agentLines(): string[] {
  const code = readFileSync('clients/typescript/examples/agent-loop.ts', 'utf8');
  const lines = code
    .replace(/\/\*[\s\S]*?\*\/\n\n/, '')
    .trimEnd()
    .split('\n');
  return ['```ts', ...lines, '```'];
}

function variableLines(): string[] {
  const variables = describeVariables();
  const names = new Set(variables.map(({ name }) => name));
  const isSecretFile = (name: string) =>
    names.has(name.replace(/_FILE$/, '')) && /_FILE$/.test(name);
  const rows = variables
    .filter(({ name }) => !isSecretFile(name))
    .map(({ name, fallback, meaning }) => {
      const file = names.has(`${name}_FILE`) ? ', `…_FILE`' : '';
      return [`\`${name}${fallback === '' ? '' : `=${fallback}`}\`${file}`, meaning];
    });
  return tableLines(['Variable, with its default', 'Meaning'], rows);
}

function commandLines(kind: Command['kind']): string[] {
  const rows = COMMANDS.filter((command) => command.kind === kind).map((command) => [
    `\`${synopsis(command)}\``,
    command.description,
  ]);
  return tableLines(['Command of `ctl`', 'Does'], rows);
}

/** Table heading of each metric kind. */
const KIND_TITLES = {
  counter: 'Counter, with its labels',
  gauge: 'Gauge, with its labels',
  histogram: 'Histogram, with its labels',
} as const;

function metricLines(): string[] {
  const byKind = Map.groupBy(Object.entries(METRICS), ([, { kind }]) => kind);
  return [...byKind].flatMap(([kind, metrics], place) => {
    const rows = metrics.map(([name, { labels, help }]) => [
      `\`${name}${labels.length === 0 ? '' : `{${labels.join()}}`}\``,
      help,
    ]);
    return [...(place === 0 ? [] : ['']), ...tableLines([KIND_TITLES[kind], 'Meaning'], rows)];
  });
}

function planLines(): string[] {
  const rows = PLAN_ROWS.map((row) => [row.state, row.event, planAfterRow(row)]);
  return tableLines(['State of the subscription', 'Event', 'Plan of the account'], rows);
}

const CONDITIONS = {
  failed: 'failed',
  errors: 'two failed tool calls',
  error: 'one failed tool call, unless stress is HIGH or OVER',
} as const;

function ruleLines(): string[] {
  const rows = APPRAISAL_RULES.rules.map(({ when, mode, strength, confidence }) => [
    typeof when === 'string' ? CONDITIONS[when] : when.join(', '),
    ...[mode, `${strength}`, `${confidence}`],
  ]);
  return tableLines(['Turn', 'Mode', 'Strength', 'Confidence'], rows);
}

function layerLines(): string[] {
  const rows = Object.entries(LAYERS).map(([layer, allowed]) => [
    `\`${layer}\``,
    allowed.map((name) => `\`${name}\``).join(', '),
  ]);
  return tableLines(['Layer', 'May import'], rows);
}
