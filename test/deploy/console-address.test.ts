import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite as plainSuite } from 'uvu';
import * as assert from 'uvu/assert';
import { clusterPlan } from '#deploy/local/cluster-plan';
import { systemProgramPath } from '#deploy/local/install/program-path';
import { startBalancer } from '#deploy/local/processes/service-process';
import { freePort } from '#deploy/local/servers/free-port';
import { Browser } from '#test/console/browser';
import { PASSWORD, tokenIn } from '#test/console/console-fixture';
import { type EdgePorts, startHaproxy } from '#test/deploy/haproxy';
import { type ProcessRun, runMain } from '#test/support/process-run';

/*
 * Tests the console behind the balancer of `make cluster` and behind `deploy/haproxy.cfg`. Pages and
 * links have the balancer's address, the audit trail has the user's address, and event streams are not
 * buffered.
 */

/** A forged client address, which a balancer must not forward. */
const FORGED = '10.9.9.9';

const program = systemProgramPath('haproxy');
if (program === undefined) {
  if (process.env['CI'] === 'true') throw new Error('there is no HAProxy');
  console.log('skipped because there is no HAProxy (apt-get install haproxy)');
}

/** Ports of a single-process service, and the public port of its console. */
type Place = {
  readonly edge: EdgePorts;
  readonly console: EdgePorts;
  readonly consolePort: number;
};

/** A balancer in front of a service. */
type Balancer = AsyncDisposable & { readonly port: number };

type Scene = { readonly run: ProcessRun; readonly browser: Browser; readonly api: string };

/** Starts a service behind a balancer, runs `act`, and stops both. */
async function behind(
  variables: Record<string, string>,
  open: (place: Place) => Promise<Balancer>,
  act: (scene: Scene) => Promise<void>,
): Promise<void> {
  const [port, consolePort] = [await freePort(), await freePort()];
  const origin = `http://127.0.0.1:${consolePort}`;
  const own = { SERVICE_CONSOLE_ORIGIN: origin, SERVICE_CONSOLE_PORT: `${port}` };
  const run = runMain(['standalone'], { SERVICE_LOCAL_ACCOUNT: 'true', ...own, ...variables });
  await run.says(/Ctrl-C/);
  const portOf = (what: RegExp) => Number(what.exec(run.stdout())?.[1]);
  const operatorsPort = portOf(/Metrics +http:\/\/127\.0\.0\.1:(\d+)/);
  const edge = { port: portOf(/API +http:\/\/127\.0\.0\.1:(\d+)/), operatorsPort };
  const place = { edge, console: { port, operatorsPort }, consolePort };
  {
    await using balancer = await open(place);
    const browser = new Browser(origin, { origin, from: FORGED });
    await act({ run, browser, api: `http://127.0.0.1:${balancer.port}/v1` });
  }
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0, run.stderr());
}

/** The balancer of `make cluster`. */
async function localBalancer({ edge, console: page, consolePort }: Place): Promise<Balancer> {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-entrance-'));
  const port = await freePort();
  const processes = [
    { name: 'edge1', kind: 'edge', variables: {}, ...edge },
    { name: 'console1', kind: 'console', variables: {}, ...page },
  ] as const;
  const entrances = [
    { port, kind: 'edge' },
    { port: consolePort, kind: 'console' },
  ] as const;
  const planned = { name: 'balancer', kind: 'balancer', port, variables: {}, entrances } as const;
  const plan = { ...clusterPlan({ folder, ports: 1 }), processes };
  const server = await startBalancer({ folder, logFolder: folder }, planned, plan);
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** HAProxy with `deploy/haproxy.cfg`. */
const haproxy = ({ edge, console: page, consolePort }: Place): Promise<Balancer> =>
  startHaproxy(program ?? '', { edges: [edge, edge], consoles: [page, page], consolePort });

async function entered({ run, browser }: Scene): Promise<void> {
  const [, link = ''] = /Console {2}(\S+)/.exec(run.stdout()) ?? [];
  const body = { email: 'ada@example.com', password: PASSWORD, name: 'Ada', token: tokenIn(link) };
  await browser.expect(201, 'POST', '/setup', body);
}

for (const [name, open, variables] of [
  ['make cluster', localBalancer, {}],
  ['deploy/haproxy.cfg', haproxy, { SERVICE_TRUSTED_PROXIES: '127.0.0.1/32' }],
] as const) {
  const suite = plainSuite(`a service behind the balancer of ${name}`);
  const there = program === undefined && open === haproxy ? suite.skip : suite;

  there('accepts console requests only at the address in its links', async () => {
    await behind(variables, open, async (scene) => {
      await entered(scene);
      const { data } = await scene.browser.expect(200, 'GET', '/me');
      assert.equal(data['account'], { id: 'localAccount', name: 'local' });
      const elsewhere = await scene.browser.send('GET', '/me', undefined, { host: 'localhost' });
      assert.is(elsewhere.status, 421);
      const foreign = { origin: 'http://127.0.0.1:1' };
      const cross = await scene.browser.send('POST', '/sign-out', {}, foreign);
      assert.is(cross.reason, 'cross_site_request');
    });
  });

  there("records the user's real address instead of a forged address", async () => {
    await behind(variables, open, async (scene) => {
      await entered(scene);
      const { data } = await scene.browser.expect(200, 'GET', '/audit');
      const lines: { action: string; address?: string }[] = Object.values(data).flat() as never;
      const setUp = lines.find(({ action }) => action === 'account.set_up');
      assert.is(setUp?.address, '127.0.0.1', JSON.stringify(data));
      assert.not.match(scene.run.stderr(), FORGED);
    });
  });

  there('sends event streams to callers without buffering', async () => {
    await behind(variables, open, async ({ run, api }) => {
      const authorization = `Bearer ${/svc_sk_\w+/.exec(run.stdout())?.[0]}`;
      const headers = { authorization, 'content-type': 'application/json' };
      const made = await fetch(`${api}/instances`, {
        method: 'POST',
        headers,
        body: '{"name":"Ada"}',
      });
      const { data } = (await made.json()) as { data: { id: string } };
      const call = get(`${api}/instances/${data.id}/events`, { headers, agent: false });
      const [response] = await once(call, 'response');
      const [first] = await once(response, 'data');
      assert.match(String(first), /^retry: \d+/);
      call.destroy();
    });
  });

  suite.run();
}
