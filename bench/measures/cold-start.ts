import { basename } from 'node:path';
import { HttpCaller } from '#bench/load/http-caller';
import { at } from '#bench/load/process-answer';
import { Child, environment, run } from '#bench/processes/child';
import { freePorts } from '#bench/processes/free-ports';
import { untilAnswered } from '#bench/processes/readiness';

/** Milliseconds from the start of a command to its first answer to a process call. */
export type ColdStart = { readonly command: string; readonly ms: readonly number[] };

/** Measures cold starts of the standalone service, started by Node directly and by `make run`. */
export async function measureColdStart(
  times: number,
  print: (line: string) => void,
): Promise<ColdStart[]> {
  print('cold starts');
  const node = {
    command: 'node services/main.ts standalone',
    ms: await startsOf(nodeStart, times),
  };
  if (await wouldInstall()) {
    print('skipping make run, which would install dependencies first: run npm ci');
    return [node];
  }
  return [node, { command: 'make run', ms: await startsOf(makeStart, times) }];
}

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
