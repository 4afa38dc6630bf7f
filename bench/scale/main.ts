/**
 * Scale run of a cluster with a real Cassandra: many instances, long histories, long tails. Every
 * part replaces its section in bench/SCALE.md.
 *
 *   node bench/scale/main.ts [--quick] [--only history,listing]
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { keepSection, SCALE_PAGE } from '#bench/report-page';
import { tableOf, targetTable } from '#bench/report-table';
import { file } from '#bench/scale/file';
import { fleetIndex } from '#bench/scale/fleet-index';
import { history } from '#bench/scale/history';
import { limit } from '#bench/scale/limit';
import { listing } from '#bench/scale/listing';
import { memory } from '#bench/scale/memory';
import { accounts } from '#bench/scale/rates/accounts';
import { growth } from '#bench/scale/rates/growth';
import type { ScaleFigure, ScalePart } from '#bench/scale/scale-part';
import { restart } from '#bench/scale/takeovers/restart';
import { takeover } from '#bench/scale/takeovers/takeover';
import { checkoutCommit } from '#deploy/local/checkout-commit';

const PARTS: readonly ScalePart[] = [
  history,
  listing,
  limit,
  takeover,
  restart,
  file,
  memory,
  accounts,
  growth,
  fleetIndex,
];

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string' } },
});
const names = values.only?.split(',') ?? PARTS.map(({ name }) => name);
const unknown = names.filter((name) => PARTS.every((part) => part.name !== name));
if (unknown.length > 0) {
  const known = PARTS.map(({ name }) => name).join(', ');
  console.error(`unknown part ${unknown.join(', ')}; the parts are ${known}`);
  process.exit(2);
}
const startedMs = performance.now();
const print = (line: string) => {
  const s = ((performance.now() - startedMs) / 1_000).toFixed(0);
  process.stderr.write(`${s.padStart(5)} s  ${line}\n`);
};

let isAllMet = true;
for (const part of PARTS.filter(({ name }) => names.includes(name))) {
  print(`${part.name}: ${part.title}`);
  const beganMs = performance.now();
  const figures = await part.measure({ isQuick: values.quick, print });
  isAllMet &&= figures.every(({ isMet }) => isMet);
  const section = sectionOf(part, figures, (performance.now() - beganMs) / 60_000);
  console.log(section);
  if (!values.quick) await keepSection(SCALE_PAGE, section);
}
if (values.quick) print(`${SCALE_PAGE.file} is unchanged, because this run is quick`);
process.exitCode = isAllMet || values.quick ? 0 : 1;

function sectionOf(
  { name, title, about, columns }: ScalePart,
  figures: readonly ScaleFigure[],
  minutes: number,
): string {
  const table =
    columns === undefined
      ? targetTable(figures)
      : tableOf(
          ['', ...columns],
          figures.map(({ what, cells = [] }) => [what, ...cells]),
        );
  return [
    `## ${title}\n`,
    ...(about === undefined ? [] : [`${about}\n`]),
    `\`--only ${name}\`, ${new Date().toISOString().slice(0, 10)}, commit ${checkoutCommit()}, ${cpus().length} × ${cpus()[0]?.model.trim()}, Node ${process.version}, ${minutes.toFixed(0)} min\n`,
    table,
    '',
  ].join('\n');
}
