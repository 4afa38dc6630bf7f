import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { comparedIn } from '#bench/page/comparison';
import { overview } from '#bench/page/overview';
import { PAGE_FILE, pageOf } from '#bench/page/page';
import { GROUPS } from '#bench/page/part';
import { agedParts, COMMITS_MAX, hotCommitsSince, readResults } from '#bench/page/results';
import { PARTS } from '#bench/parts';

const page = suite('the page of results');

// Catches a figure that somebody typed into the page, and a page of an earlier renderer.
page('is written from the file of results', () => {
  assert.is(readFileSync(PAGE_FILE, 'utf8'), pageOf(PARTS, readResults()), 'run make bench');
});

// Catches results of a part that no longer exists, which the page would silently leave out.
page('has a section for every part with results', () => {
  const names = new Set(PARTS.map(({ name }) => name));
  assert.is(names.size, PARTS.length);
  assert.equal(
    Object.keys(readResults()).filter((name) => !names.has(name)),
    [],
  );
});

page('warns about results that are older than 60 commits of the measured code', () => {
  const results = readResults();
  const aged = agedParts(results, hotCommitsSince);
  if (aged.length > 0) {
    const since = `more than ${COMMITS_MAX} commits of the measured code`;
    console.warn(`warning: benchmark results are ${since} old; make bench ARGS="--only ${aged}"`);
  }
  const [[name, { commit }] = ['', { commit: '' }]] = Object.entries(results);
  const hash = commit.split(' ')[0];
  const agedWith = (commits: number | undefined) =>
    agedParts(results, (each) => (each === hash ? commits : 0));
  assert.equal(agedWith(COMMITS_MAX), []);
  assert.ok(agedWith(COMMITS_MAX + 1).includes(name));
  assert.ok(agedWith(undefined).includes(name));
  assert.is(hotCommitsSince('HEAD'), 0);
  assert.is(hotCommitsSince('0000000'), undefined);
});

// Catches a part that makes its group longer than the 30 minutes that the documents promise.
page('has groups that took at most 30 minutes', () => {
  const results = readResults();
  for (const group of GROUPS) {
    const parts = PARTS.filter((part) => part.group === group);
    const minutes = parts.reduce((sum, { name }) => sum + (results[name]?.minutes ?? 0), 0);
    assert.ok(minutes <= 30, `${group}: ${minutes} minutes`);
  }
});

const run = (requestsPerS: number, problem?: string) => ({
  requestsPerS,
  p50Ms: 1,
  p99Ms: 2,
  cpu: [
    { process: 'fastify', microsPerRequest: 30 },
    { process: 'postgres', microsPerRequest: 20 },
    { process: 'wrk', microsPerRequest: 50 },
  ],
  problem: problem === undefined ? undefined : { text: problem, isLate: false },
});

const RATIOS = [{ ours: 'd', theirs: 'pg', connections: 64, least: 2 }] as const;

// Catches a ratio of medians, which compares different rounds, and a void round that counts.
page('has ratios of servers in the same valid round', () => {
  const rounds = [
    [100, 50],
    [300, 100],
    [900, 100, 'wrong answer'],
  ].map(([own, other, problem]) => ({
    connections: 64,
    results: new Map([
      ['d' as const, run(Number(own), problem as string | undefined)],
      ['pg' as const, run(Number(other))],
    ]),
  }));
  const { figures, problems } = comparedIn(rounds, { ratios: RATIOS });
  const [ratio] = figures;
  assert.equal([ratio?.reached, ratio?.isMet], ['2.50 (2.00..3.00)', true]);
  assert.equal(problems, ['round 3, d at 64 connections: wrong answer']);
  const slow = rounds.slice(0, 1).map((round) => ({
    ...round,
    results: new Map([
      ['d' as const, run(99)],
      ['pg' as const, run(50)],
    ]),
  }));
  assert.is(comparedIn(slow, { ratios: RATIOS }).figures[0]?.isMet, false);
});

// Catches CPU time of the load generator in the cost, and a database whose CPU time is left out.
page('has observations per core-second of all processes but the load generator', () => {
  const rounds = [{ connections: 64, results: new Map([['pg' as const, run(50)]]) }];
  const { tables } = comparedIn(rounds, { ratios: [] });
  const facts = { date: '', commit: '', machine: '', versions: [], minutes: 0 };
  assert.match(
    overview({ cluster: { ...facts, tables } }),
    /\| Fastify \+ PostgreSQL transaction \| 20,000 \| {2}\|/,
  );
});

page.run();
