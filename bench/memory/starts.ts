import { basename } from 'node:path';
import { HttpCaller } from '#bench/load/http-caller';
import { at } from '#bench/load/process-answer';
import { spreadOf, spreadText } from '#bench/measures/statistics';
import type { Part } from '#bench/page/part';
import { Child, environment, run } from '#bench/processes/child';
import { freePorts } from '#bench/processes/free-ports';
import { untilAnswered } from '#bench/processes/readiness';

/** Maximum time from start to first answer, in ms. Source: the project's targets. */
export const COLD_START_MS_MAX = 1_500;

const STARTS = 5;

/** Time from start to first answer in memory, started by Node directly and by `make run`. */
export const starts: Part = {
  name: 'starts',
  group: 'memory',
  title: 'Start of a process in memory',
  about: 'Time from the start of a command to the first answer to an observation.',
  async measure({ isQuick, print }) {
    const times = isQuick ? 1 : STARTS;
    const node = ['node services/main.ts standalone', await startsOf(nodeStart, times)] as const;
    const isSkipped = await wouldInstall();
    if (isSkipped) print('skipping make run, which would install dependencies first: run npm ci');
    const make = isSkipped ? [] : [['make run', await startsOf(makeStart, times)] as const];
    const figures = [node, ...make].map(([command, ms]) => {
      const spread = spreadOf(ms);
      return {
        what: `\`${command}\` to first answer`,
        target: `≤ ${COLD_START_MS_MAX.toLocaleString('en')} ms`,
        reached: `${spreadText(spread, 0)} ms`,
        isMet: spread.median <= COLD_START_MS_MAX,
      };
    });
    return { figures };
  },
};

/**
 * Whether `make run` would install dependencies first. The project's target for a cold start
 * assumes installed dependencies.
 */
async function wouldInstall(): Promise<boolean> {
  const dryRun = { name: 'make', program: 'make', args: ['--dry-run', 'run'], env: environment() };
  return (await run(dryRun)).includes('npm ci');
}

type Start = { readonly program: string; readonly args: readonly string[] };

const nodeStart: Start = { program: process.execPath, args: ['services/main.ts', 'standalone'] };
const makeStart: Start = { program: 'make', args: ['run'] };

async function startsOf(start: Start, times: number): Promise<number[]> {
  const measured: number[] = [];
  while (measured.length < times) measured.push(await once(start));
  return measured;
}

async function once(start: Start): Promise<number> {
  const [api = 0, metrics = 0, admin = 0] = await freePorts(3);
  const startedMs = performance.now();
  await using child = new Child({
    name: `${basename(start.program)} ${start.args.join(' ')}`,
    ...start,
    env: environment({
      SERVICE_PORT: `${api}`,
      SERVICE_METRICS_PORT: `${metrics}`,
      SERVICE_ADMIN_PORT: `${admin}`,
      SERVICE_CONSOLE_PORT: '0',
      SERVICE_LOCAL_ACCOUNT: 'true',
      SERVICE_DOCS_ENABLED: 'true',
    }),
  });
  await untilAnswered(child, async () => {
    // When ready, the service prints the API key of its local account.
    const key = /svc_sk_\w{50}/.exec(child.output)?.[0];
    if (key === undefined) return undefined;
    using caller = new HttpCaller(`http://127.0.0.1:${api}`, key);
    return await observeOnce(caller);
  });
  return performance.now() - startedMs;
}

async function observeOnce(caller: HttpCaller): Promise<unknown> {
  const created = await caller.send({
    method: 'POST',
    path: '/v1/instances',
    body: '{"name":"first"}',
  });
  return caller.send({
    method: 'POST',
    path: `/v1/instances/${at(created, ['data', 'id'])}/process`,
    body: '{"mode_target":"ORDER","signal_strength":0.6}',
  });
}
