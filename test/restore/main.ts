import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { freeBlock } from '#deploy/local/servers/free-port';
import { sumOf } from '#test/restore/recorded-load';
import { type Rehearsal, rehearse } from '#test/restore/rehearsal';

/*
 * `make restore-rehearsal`: backup and point-in-time restore with the scripts of `deploy/backup`,
 * a real Cassandra and a real service. Exits with 1 if a result differs from docs/backup.md.
 * Usage: node test/restore/main.ts [--cassandra 3]
 */

const SIZE = {
  instances: 200,
  workers: 16,
  seconds: { first: 15, second: 15, third: 10 },
  quota: 2_000,
};

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const { values } = parseArgs({ options: { cassandra: { type: 'string', default: '1' } } });
const nodes = values.cassandra === '3' ? 3 : 1;
const folder = await mkdtemp(join(tmpdir(), 'identity-engine-restore-'));
const ports = await freeBlock(100);
const print = (line: string) => console.log(line);
const result = await rehearse({ folder, ports, nodes, print }, SIZE);
console.log(reportOf(result));
const isClean = result.findings.count === 0;
if (isClean) await rm(folder, { recursive: true });
else console.log(`state and logs: ${folder}`);
process.exitCode = isClean ? 0 : 1;

function reportOf({
  written,
  seconds,
  observations,
  verified,
  segments,
  ...quota
}: Rehearsal): string {
  const { marks, atSnapshot, before, after, acknowledged, chargedBefore } = written;
  const rows = [
    ['restore point', marks.join(', ')],
    ['observations acknowledged before the snapshot', atSnapshot],
    [
      'commit log segments replayed: archived, copied by the mark',
      `${segments.archived}, ${segments.marked}`,
    ],
    ['observations acknowledged before the mark', sumOf(before).acknowledged],
    ['observations sent before the end of the mark', sumOf(after).sent],
    ['observations stored after the restore', observations],
    ['observations acknowledged before the crash', acknowledged],
    ['instances whose replay gives the head', verified],
    ['cycles charged before the mark, after the restore', `${chargedBefore}, ${quota.charged}`],
    ['cycles stored after exhaustion, quota', `${quota.stored}, ${written.quota}`],
    ['time from the start of Cassandra to the first answer', `${seconds.toFixed(1)} s`],
    ['findings', quota.findings.count],
  ];
  return [...rows.map(([what, is]) => `${what}: ${is}`), ...quota.findings.lines].join('\n');
}
