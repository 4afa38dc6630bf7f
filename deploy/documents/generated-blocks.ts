import { describeVariables } from '#config';
import type { Command } from '#ctl/command';
import { synopsis } from '#ctl/command-line';
import { COMMANDS } from '#ctl/ctl';
import { plannedClusterLines, unitCostLines } from '#deploy/documents/capacity-lines';
import { dashboardLines } from '#deploy/documents/dashboard-lines';
import { tableLines } from '#deploy/documents/markdown-table';
import { METRICS } from '#telemetry/metrics';
import { LAYERS } from '#test/architecture/map';
import { PLAN_ROWS, planAfterRow } from '#test/billing/plan-table';

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
  { document: 'docs/architecture.md', name: 'layers', lines: layerLines },
  { document: 'docs/metrics.md', name: 'metrics', lines: metricLines },
  { document: 'docs/dashboards.md', name: 'dashboards', lines: dashboardLines },
  { document: 'docs/billing.md', name: 'plans', lines: planLines },
];

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

function layerLines(): string[] {
  const rows = Object.entries(LAYERS).map(([layer, allowed]) => [
    `\`${layer}\``,
    allowed.map((name) => `\`${name}\``).join(', '),
  ]);
  return tableLines(['Layer', 'May import'], rows);
}
