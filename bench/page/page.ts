import { numberText, spreadText } from '#bench/measures/statistics';
import { overview } from '#bench/page/overview';
import type { Cell, Column, Figure, Group, Part, Quantity, Table } from '#bench/page/part';
import type { PartResults, Results } from '#bench/page/results';
import { tableOf } from '#bench/page/text-table';
import { wrapped } from '#deploy/documents/wrapped-text';

/** The page with all results. */
export const PAGE_FILE = 'bench/RESULTS.md';

const HEAD = `# Benchmark results

Use this page to compare the service with other ways to do the same work, and to see what instances, histories, keys and
features cost. \`make bench\` writes this page from \`bench/results.json\`. Nobody edits either file by hand.

Compared servers take turns on one machine, and the load generator shares the machine with them. A ratio compares two
servers within one round. A cell is the median of all rounds, followed by (smallest..largest). p50 and p99 are
latencies: 50 % and 99 % of the requests were at most this slow. CPU is the time of a process per observation. The
service includes authentication, limiter, metrics and model. The [glossary](../docs/glossary.md) defines journal,
checkpoint, head and tail.

The line above a result names its command, date, commit, machine and versions. Compare figures of one part, not of
different parts.`;

/** Titles of the groups. */
const GROUP_TITLES: Readonly<Record<Group, string>> = {
  memory: 'In memory',
  features: 'Fleet calls, events, past states and clients',
  durable: 'On Cassandra, 1,000 instances',
  engines: 'On Cassandra, three engines',
  frameworks: 'Beside other frameworks',
  many: 'On Cassandra, many instances',
  file: 'On one SQLite file',
  limiter: 'Limiter',
  accounts: 'Accounts',
  latency: 'Latency under open load',
  growth: 'Growth with instances and histories',
  'fail-over': 'Fail-over and restart',
};

/** The page in Markdown. Leaves out parts without results. */
export function pageOf(parts: readonly Part[], results: Results): string {
  const measured = parts.flatMap((part) => {
    const found = results[part.name];
    return found === undefined ? [] : [{ part, found }];
  });
  const groups = Map.groupBy(measured, ({ part }) => part.group);
  const sections = [...groups].flatMap(([group, members]) => [
    `## ${GROUP_TITLES[group]}`,
    ...members.map(({ part, found }) => sectionOf(part, found)),
  ]);
  const all = [HEAD, overview(results), missedOf(measured), ...sections];
  return `${wrapped(all.filter((text) => text !== '').join('\n\n'))}\n`;
}

/** Missed targets of all parts. Each row links to the part, which gives the reason. */
function missedOf(measured: readonly { part: Part; found: PartResults }[]): string {
  const rows = measured.flatMap(({ part, found }) =>
    (found.figures ?? [])
      .filter(({ isMet }) => !isMet)
      .map(({ what, target, reached }) => [linkOf(part), what, target, reached]),
  );
  const targets = measured.flatMap(({ found }) =>
    (found.figures ?? []).filter(({ target }) => target !== ''),
  );
  const met = targets.length - rows.length;
  const sentence = `${met} of ${targets.length} targets are met. These targets are missed:`;
  return [
    '## Missed targets',
    sentence,
    tableOf(['Part', 'Figure', 'Target', 'Reached'], rows),
  ].join('\n\n');
}

/** Link to the section of a part. GitHub makes anchors from titles in this way. */
function linkOf({ title }: Part): string {
  const anchor = title
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');
  return `[${title}](#${anchor})`;
}

/** Section of a part with its results. */
export function sectionOf(part: Part, found: PartResults): string {
  const { figures = [], tables = [], notes = [], problems = [] } = found;
  const isMissed = figures.some(({ isMet }) => !isMet);
  return [
    `### ${part.title}`,
    part.about,
    circumstancesOf(part, found),
    ...(figures.length === 0 ? [] : [figureTable(figures)]),
    ...(isMissed && part.missed !== undefined ? [part.missed] : []),
    ...tables.map(tableText),
    ...notes,
    ...(problems.length === 0
      ? []
      : [`Void rounds, which do not count:\n\n${problems.map((line) => `- ${line}`).join('\n')}`]),
  ].join('\n\n');
}

function circumstancesOf({ name }: Part, found: PartResults): string {
  const { date, commit, machine, versions, minutes } = found;
  const programs = versions.map(({ name: program, value }) => `${program} ${value}`);
  const facts = [date.slice(0, 10), `commit ${commit}`, machine, ...programs];
  return `\`make bench ARGS="--only ${name}"\`, ${facts.join(', ')}, ${numberText(minutes, 0)} min`;
}

/** A table of figures that marks each missed target. */
function figureTable(figures: readonly Figure[]): string {
  const hasTarget = figures.some(({ target }) => target !== '');
  const rows = figures.map(({ what, target, reached, isMet }) => [
    what,
    ...(hasTarget ? [target] : []),
    isMet ? reached : `${reached}, **not met**`,
  ]);
  return tableOf(['', ...(hasTarget ? ['target'] : []), 'reached'], rows);
}

function tableText({ name, columns, rows }: Table): string {
  const text = tableOf(
    ['', ...columns.map((column) => column.name)],
    rows.map((row) => [
      row.name,
      ...columns.map((column, index) => cellText(row.cells[index] ?? '', column)),
    ]),
  );
  return name === '' ? text : `**${name}**\n\n${text}`;
}

function cellText(cell: Cell, { decimals = 0 }: Column): string {
  if (typeof cell === 'string') return cell;
  if (isQuantity(cell)) return quantityText(cell, decimals);
  return Object.entries(cell)
    .map(([name, quantity]) => `${name} ${quantityText(quantity, decimals)}`)
    .join('<br>');
}

function isQuantity(cell: Exclude<Cell, string>): cell is Quantity {
  return typeof cell === 'number' || typeof cell['median'] === 'number';
}

/** Text of a quantity, such as `12.5 (11.0..14.2)`. */
function quantityText(quantity: Quantity, decimals: number): string {
  if (typeof quantity === 'number') return numberText(quantity, decimals);
  return spreadText(quantity, decimals);
}
