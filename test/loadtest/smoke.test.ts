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

/** A few requests from real k6 to a real service. */
const SHORT = { PROFILE: 'smoke', RATE: '20', DURATION: '4' };

/** Limits high enough for an unreduced smoke run. */
const AMPLE = { requestsPerMinute: 1_000_000, cyclesPerMonth: 1_000_000 };

type Ran = { readonly code: number | null; readonly text: string; readonly folder: string };

/** Runs `make load`'s program with these variables and a new results folder. */
async function loaded(variables: Record<string, string>): Promise<Ran & Disposable> {
  const results = mkdtempSync(join(tmpdir(), 'identity-engine-load-'));
  // Hide this machine's local cluster from the test.
  const apart = { CLUSTER_FOLDER: join(results, 'no-cluster'), RESULTS: results };
  const { code, text } = await runToEnd(process.execPath, ['loadtest/main.ts'], {
    ...apart,
    ...variables,
  });
  const [name = ''] = readdirSync(results);
  const dispose = (): void => rmSync(results, { recursive: true });
  return { code, text, folder: join(results, name), [Symbol.dispose]: dispose };
}

/** Variables for a short run with a new key. */
async function remote(service: Service, plan = AMPLE) {
  const { key } = await newCaller(service, plan);
  return { ...SHORT, BASE_URL: service.api, API_KEY: key };
}

/** Rows of broken objectives in a summary. */
const complaintsIn = ({ text }: Ran): string[] =>
  text.split('\n').filter((line) => line.startsWith('|') && line.includes('**'));

const smoke = await k6OrSkip('a load test with real k6');

smoke('keeps every objective on a healthy service, and writes its results', async () => {
  await using service = await startStandalone();
  using ran = await loaded(await remote(service));
  assert.is(ran.code, 0, ran.text);
  const summary = readFileSync(join(ran.folder, 'summary.md'), 'utf8');
  assert.match(summary, /^# Load test `smoke`: every objective is kept$/m);
  assert.match(summary, /\| cycles answered = cycles stored \| (\d+) \| \1 \| kept \|/);
  for (const route of ['process', 'process/batch', 'snapshot', 'contract', 'history']) {
    assert.match(summary, `\`/v1/instances/:id/${route}\``);
  }
  assert.match(readFileSync(join(ran.folder, 'report.html'), 'utf8'), /<html/i);
  assert.ok(existsSync(join(ran.folder, 'metrics.json')));
  assert.not.match(ran.text + summary, /svc_sk_/);
});

smoke('writes its metrics to Prometheus during the load', async () => {
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
    'unanswered calls',
    ({ path, number }) => (isProcess(path) && number % 10 === 0 ? { status: 502 } : undefined),
    /99\.9 % of calls are answered/,
  ],
  [
    'a limit header of another account',
    ({ path, headers, number }) => {
      if (isProcess(path) && number % 10 === 0) headers['x-ratelimit-limit'] = '7';
      return undefined;
    },
    /exactly the limit headers/,
  ],
  [
    'an unexpected status',
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

smoke('breaks an objective of `spike` for a missing answer, without `make load`', async () => {
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
  const broken = /^\| every failed call .* \| >= 100 % \| \S+ % \| \*\*BROKEN\*\* \|$/m;
  assert.ok(broken.test(text), text);
});

smoke('is void if requests could not be started in time', async () => {
  await using service = await startStandalone();
  const variables = await remote(service);
  // Requests of 3 s may be in flight. A delay of 6 s occupies every virtual user.
  const alter: Alter = ({ path }) => (isProcess(path) ? { delayMs: 6_000 } : undefined);
  await using proxy = await alteringProxy(service.origin, alter);
  using ran = await loaded({ ...variables, BASE_URL: proxy.origin, DURATION: '6' });
  assert.is(ran.code, 1, ran.text);
  assert.match(ran.text, /VOID, the run proves nothing/);
  assert.match(ran.text, /\*\*Void:\*\* \d+ requests could not be started in time/);
});

smoke("confirms that the limiter admits exactly the key's plan", async () => {
  await using service = await startStandalone();
  const variables = await remote(service, { ...AMPLE, requestsPerMinute: 60 });
  using ran = await loaded({ ...variables, PROFILE: 'limiter', RATE: '10', DURATION: '10' });
  assert.is(ran.code, 0, ran.text);
  // The driver uses one of the 60 requests to read the plan.
  assert.match(ran.text, /never more than 60 requests in minute 1 \| <= 60 \| 59 \| kept/);
});

for (const [what, variables, complaint] of [
  ['an unknown profile', { PROFILE: 'smok' }, /^load: PROFILE is "smok"; choose smoke, /],
  [
    'a missing cluster',
    { PROFILE: 'smoke' },
    /^load: no cluster runs in .*: start a cluster with `make cluster`/,
  ],
  [
    'a rate that is not a number',
    { PROFILE: 'smoke', RATE: 'x' },
    /^load: RATE: requests a second, .* not "x"$/,
  ],
  [
    'a failover of a remote service',
    { PROFILE: 'failover', BASE_URL: 'http://127.0.0.1:1', API_KEY: 'svc_sk_x' },
    /^load: failover kills an engine of `make cluster`: unset BASE_URL$/,
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

smoke('ends with status 2 and one line for a wrong key or a missing Prometheus', async () => {
  await using service = await startStandalone();
  const variables = await remote(service);
  const wrong = variables.API_KEY.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
  using unknown = await loaded({ ...variables, API_KEY: wrong });
  assert.is(unknown.code, 2);
  assert.match(unknown.text.trimEnd(), /^load: http:\S+ refuses the key in API_KEY$/);
  const nowhere = `http://127.0.0.1:${await freePort()}`;
  using silent = await loaded({ ...variables, PROMETHEUS_URL: nowhere });
  assert.is(silent.code, 2);
  assert.match(silent.text.trimEnd(), /^load: PROMETHEUS_URL: nothing answers at .*ECONNREFUSED$/);
  using deaf = await loaded({ ...variables, PROMETHEUS_URL: service.origin });
  assert.is(deaf.code, 2);
  assert.match(deaf.text.trimEnd(), /answers 404: start Prometheus with --web/);
});

smoke.run();
