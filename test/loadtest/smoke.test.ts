import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { installedK6 } from '#deploy/local/install/k6';
import { freePort } from '#deploy/local/servers/free-port';
import { type Alter, alteringProxy } from '#test/loadtest/altered-answers';
import { k6OrSkip } from '#test/loadtest/k6-or-skip';
import { runToEnd } from '#test/runner/program';
import { newCaller } from '#test/support/calls/caller';
import { type Service, startStandalone } from '#test/support/servers/service';

/** A few requests of real k6 to a real service: an end-to-end test without objectives. */
const SHORT = { PROFILE: 'smoke', RATE: '20', DURATION: '4' };

/** Limits high enough for an unreduced smoke run. */
const AMPLE = { requestsPerMinute: 1_000_000, cyclesPerMonth: 1_000_000 };

type Ran = { readonly code: number | null; readonly text: string; readonly folder: string };

/** Runs the program of `make load` with these variables and its own results folder. */
async function loaded(variables: Record<string, string>): Promise<Ran & Disposable> {
  const results = mkdtempSync(join(tmpdir(), 'identity-engine-load-'));
  // Hide a cluster of this machine from the test.
  const apart = { CLUSTER_FOLDER: join(results, 'no-cluster'), RESULTS: results };
  const { code, text } = await runToEnd(process.execPath, ['loadtest/main.ts'], {
    ...apart,
    ...variables,
  });
  const [name = ''] = readdirSync(results);
  const dispose = (): void => rmSync(results, { recursive: true });
  return { code, text, folder: join(results, name), [Symbol.dispose]: dispose };
}

/** A key and address for a short run. */
async function remote(service: Service, plan = AMPLE) {
  const { key } = await newCaller(service, plan);
  return { ...SHORT, BASE_URL: service.api, API_KEY: key };
}

/** Broken objectives in the summary of a run. */
const complaintsIn = ({ text }: Ran): string[] =>
  text.split('\n').filter((line) => line.startsWith('|') && line.includes('**'));

const smoke = await k6OrSkip('a smoke test by real k6');

smoke('meets every objective of a healthy service, and writes results', async () => {
  await using service = await startStandalone();
  using ran = await loaded(await remote(service));
  assert.is(ran.code, 0, ran.text);
  const summary = readFileSync(join(ran.folder, 'summary.md'), 'utf8');
  assert.match(summary, /^# Load test `smoke`: every objective is kept$/m);
  assert.match(summary, /\| cycles answered are the cycles stored \| (\d+) \| \1 \| kept \|/);
  for (const route of ['process', 'process/batch', 'snapshot', 'contract', 'history']) {
    assert.match(summary, `\`/v1/instances/:id/${route}\``);
  }
  assert.match(readFileSync(join(ran.folder, 'report.html'), 'utf8'), /<html/i);
  assert.ok(existsSync(join(ran.folder, 'metrics.json')));
  assert.not.match(ran.text + summary, /svc_sk_/);
});

smoke('writes its metrics to Prometheus meanwhile', async () => {
  await using service = await startStandalone();
  const bytes: number[] = [];
  const receiver = createServer((incoming, outgoing) => {
    let size = 0;
    incoming.on('data', (chunk: Buffer) => (size += chunk.length));
    incoming.on('end', () => {
      if (incoming.url === '/api/v1/write' && size > 0) bytes.push(size);
      outgoing.writeHead(size > 0 ? 204 : 400).end();
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { port } = receiver.address() as AddressInfo;
  using ran = await loaded({
    ...(await remote(service)),
    PROMETHEUS_URL: `http://127.0.0.1:${port}`,
  });
  receiver.closeAllConnections();
  receiver.close();
  assert.is(ran.code, 0, ran.text);
  assert.ok(bytes.length > 0);
});

const isProcess = (path: string) => path.endsWith('/process');

for (const [what, alter, complaint] of [
  [
    'calls that are not answered',
    ({ path, number }) => (isProcess(path) && number % 10 === 0 ? { status: 502 } : undefined),
    /99\.9 % of calls are answered/,
  ],
  [
    "a limit header that is another account's",
    ({ path, headers, number }) => {
      if (isProcess(path) && number % 10 === 0) headers['x-ratelimit-limit'] = '7';
      return undefined;
    },
    /exactly the limit headers/,
  ],
  [
    'an answer about nothing',
    ({ path, number }) => (isProcess(path) && number % 10 === 0 ? { status: 404 } : undefined),
    /no answer is wrong/,
  ],
] as readonly (readonly [string, Alter, RegExp])[]) {
  smoke(`ends with status 1 and names the objective broken by ${what}`, async () => {
    await using service = await startStandalone();
    const variables = await remote(service);
    await using proxy = await alteringProxy(service.origin, alter);
    using ran = await loaded({ ...variables, BASE_URL: proxy.origin });
    assert.is(ran.code, 1, ran.text);
    assert.match(ran.text, /^# Load test `smoke`: an objective is broken$/m);
    assert.match(complaintsIn(ran).join('\n'), complaint);
  });
}

smoke('of a spike, run by k6 alone, fails if a call has no answer', async () => {
  await using service = await startStandalone();
  const { BASE_URL: _, ...variables } = await remote(service);
  const alter: Alter = ({ path, number }) =>
    isProcess(path) && number % 10 === 0 ? { isCut: true } : undefined;
  await using proxy = await alteringProxy(service.origin, alter);
  const spike = { PROFILE: 'spike', RATE: '10', SECONDS: '12', INSTANCES: '100' };
  const { text } = await runToEnd(
    await installedK6(),
    ['run', '--quiet', '--no-usage-report', '--address', '', 'loadtest/k6/load.k6.ts'],
    { ...variables, ...spike, BASE_URL: proxy.origin },
  );
  const broken =
    /^\| every call that is not carried out .* \| >= 100 % \| \S+ % \| \*\*BROKEN\*\* \|$/m;
  assert.ok(broken.test(text), text);
});

smoke('is void if requests could not be started in time', async () => {
  await using service = await startStandalone();
  const variables = await remote(service);
  // Three seconds of requests may be in flight; then no virtual user is free.
  const alter: Alter = ({ path }) => (isProcess(path) ? { delayMs: 6_000 } : undefined);
  await using proxy = await alteringProxy(service.origin, alter);
  using ran = await loaded({ ...variables, BASE_URL: proxy.origin, DURATION: '6' });
  assert.is(ran.code, 1, ran.text);
  assert.match(ran.text, /VOID, it proves nothing/);
  assert.match(ran.text, /\*\*Void:\*\* \d+ requests could not be started in time/);
});

smoke('of the limiter admits exactly the plan of the key', async () => {
  await using service = await startStandalone();
  const variables = await remote(service, { ...AMPLE, requestsPerMinute: 60 });
  using ran = await loaded({ ...variables, PROFILE: 'limiter', RATE: '10', DURATION: '10' });
  assert.is(ran.code, 0, ran.text);
  // The driver's own plan look-up counts as one of sixty.
  assert.match(ran.text, /never more than 60 requests in minute 1 \| <= 60 \| 59 \| kept/);
});

for (const [what, variables, complaint] of [
  ['an unknown profile', { PROFILE: 'smok' }, /^load: PROFILE is "smok"; it is one of smoke, /],
  [
    'no cluster',
    { PROFILE: 'smoke' },
    /^load: no cluster runs on .*: start one with `make cluster`/,
  ],
  ['no number', { PROFILE: 'smoke', RATE: 'x' }, /^load: RATE: requests a second, .* not "x"$/],
  [
    'a failover of what it cannot kill',
    { PROFILE: 'failover', BASE_URL: 'http://127.0.0.1:1', API_KEY: 'svc_sk_x' },
    /^load: failover kills an engine, which it can only of `make cluster`$/,
  ],
] as const) {
  smoke(`ends with status 2 and one line for ${what}`, async () => {
    using ran = await loaded(variables);
    assert.is(ran.code, 2, ran.text);
    assert.match(ran.text.trimEnd(), complaint);
  });
}

smoke('ends with status 2 and one line for an unreachable address', async () => {
  const variables = { ...SHORT, BASE_URL: `http://127.0.0.1:${await freePort()}` };
  using ran = await loaded({ ...variables, API_KEY: 'svc_sk_x' });
  assert.is(ran.code, 2);
  assert.match(ran.text.trimEnd(), /^load: nothing answers at http:\S+: ECONNREFUSED$/);
});

smoke('ends with status 2 and one line for a wrong key, or without Prometheus', async () => {
  await using service = await startStandalone();
  const variables = await remote(service);
  const wrong = variables.API_KEY.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
  using unknown = await loaded({ ...variables, API_KEY: wrong });
  assert.is(unknown.code, 2);
  assert.match(unknown.text.trimEnd(), /^load: http:\S+ does not know the key in API_KEY$/);
  const nowhere = `http://127.0.0.1:${await freePort()}`;
  using silent = await loaded({ ...variables, PROMETHEUS_URL: nowhere });
  assert.is(silent.code, 2);
  assert.match(silent.text.trimEnd(), /^load: PROMETHEUS_URL: nothing answers at .*ECONNREFUSED$/);
  using deaf = await loaded({ ...variables, PROMETHEUS_URL: service.origin });
  assert.is(deaf.code, 2);
  assert.match(deaf.text.trimEnd(), /answers 404: Prometheus takes it with --web/);
});

smoke.run();
