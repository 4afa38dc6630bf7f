import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ClusterReport, ServiceReport } from '#cluster-status/report';
import { ADMIN_TOKEN } from '#test/support/calls/admin-token';
import { createInstance, observationAt, process } from '#test/support/calls/scene';
import { addressIn, runMain } from '#test/support/process-run';
import { type OwnCluster, startOwnCluster } from '#test/support/servers/own-cluster';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';

const { address: cassandra, suite: onServers } = cassandraOrSkip();
const { address: nats } = natsOrSkip();

/** Maximum time until a cluster is healthy on a busy machine, in seconds. */
const WELL_S_MAX = 60;

async function reportAt(adminUrl: string): Promise<ClusterReport> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const answer = await fetch(`${adminUrl}/cluster/report`, { headers });
  assert.is(answer.status, 200);
  return ((await answer.json()) as { data: ClusterReport }).data;
}

type Services = { readonly engine: ServiceReport; readonly limiter: ServiceReport };

/** Polls the report until it has both services and the condition holds. */
async function until(adminUrl: string, isSo: (report: Services) => boolean): Promise<Services> {
  let report = await reportAt(adminUrl);
  for (let waitedS = 0; waitedS < WELL_S_MAX; waitedS += 1) {
    if (report.kind === 'cluster' && 'value' in report.engine && 'value' in report.limiter) {
      const services = { engine: report.engine.value, limiter: report.limiter.value };
      if (isSo(services)) return services;
    }
    await sleep(1_000);
    report = await reportAt(adminUrl);
  }
  throw new Error(JSON.stringify(report));
}

const isWell = ({ unserved, move_count }: ServiceReport) =>
  Object.values(unserved).every((count) => count === 0) && move_count === 0;

let cluster: OwnCluster;

const real = onServers('the report of a cluster of processes');

real.before(async () => {
  const variables = { SERVICE_TLS_FOLDER: 'test/grpc/certificates/member' };
  const parts = { limiters: ['l1', 'l2'], variables };
  cluster = await startOwnCluster({ cassandra, nats }, ['a', 'b'], parts);
});
real.after(async () => await cluster?.[Symbol.asyncDispose]());

real('has the same nodes, shards, journals and actor counts from any limiter', async () => {
  const id = await createInstance(cluster.caller, { name: 'Ada' });
  await process(cluster.caller, id, observationAt(0));
  for (const limiter of ['l1', 'l2']) {
    const { adminUrl } = cluster.service(limiter);
    const { engine, limiter: limiters } = await until(
      adminUrl,
      (seen) =>
        isWell(seen.engine) &&
        isWell(seen.limiter) &&
        seen.engine.nodes.every(({ owns }) => owns === 8),
    );
    const shown = (service: ServiceReport) =>
      service.nodes.map(({ node, state, owns, due, agrees }) => [node, state, owns, due, agrees]);
    assert.equal(shown(engine), [
      ['a', 'serving', 8, 8, true],
      ['b', 'serving', 8, 8, true],
    ]);
    assert.equal(
      limiters.nodes.map(({ node }) => node),
      ['l1', 'l2'],
    );
    for (const node of [...engine.nodes, ...limiters.nodes]) {
      assert.ok('value' in node.journal && node.journal.value.next > 0, JSON.stringify(node));
      assert.ok('value' in node.load, JSON.stringify(node.load));
    }
    const held = engine.nodes.map(({ load }) => ('value' in load ? load.value.actors : 0));
    assert.ok((held[0] ?? 0) + (held[1] ?? 0) >= 2, 'an instance and its directory are active');
    const meters = limiters.nodes.map(({ load }) => ('value' in load ? load.value.actors : 0));
    assert.ok((meters[0] ?? 0) + (meters[1] ?? 0) >= 1);
  }
});

real(
  'lists only the remaining engine, with all shards, after the takeover from a killed engine',
  async () => {
    const { adminUrl } = cluster.service('l1');
    await until(adminUrl, ({ engine }) => isWell(engine));
    const before = await until(adminUrl, ({ engine }) => engine.nodes.length === 2);
    const victim = before.engine.nodes.find(({ node }) => node === 'b')?.incarnation;
    cluster.engines.get('b')?.child.kill('SIGKILL');
    const after = await until(
      adminUrl,
      ({ engine }) =>
        isWell(engine) && engine.nodes.every(({ incarnation }) => incarnation !== victim),
    );
    assert.equal(
      after.engine.nodes.map(({ node, owns }) => [node, owns]),
      [['a', 16]],
    );
  },
);

real('refuses callers with an API key', async () => {
  const headers = { authorization: `Bearer ${cluster.caller.key}` };
  const { adminUrl, api } = cluster.service('l1');
  assert.is((await fetch(`${adminUrl}/cluster/report`, { headers })).status, 401);
  for (const path of ['/cluster', '/cluster/report']) {
    const answer = await fetch(`${api}${path}`, { headers });
    assert.is(answer.status, 404, `the API has no ${path}`);
    await answer.text();
  }
});

const memory = suite('the report of an in-memory process');

for (const part of ['standalone', 'limiter']) {
  memory(`states that a ${part} process is not a cluster`, async () => {
    const run = runMain([part]);
    await run.says(/Ctrl-C|ready/);
    const admin = /Admin {4}(http:\S+)/.exec(run.stdout())?.[1] ?? addressIn(run, 'admin');
    const report = await reportAt(admin);
    assert.is(report.kind, 'alone');
    if (report.kind !== 'alone') return;
    assert.equal([report.engine === null, report.limiter?.actors], [part === 'limiter', 0]);
    const page = await fetch(`${admin}/cluster`);
    assert.is(page.status, 200);
    assert.match(await page.text(), /<!doctype html>|npm run build:console/);
    if (part === 'standalone') assert.match(run.stdout(), /Admin .*\/cluster\n/);
    run.child.kill('SIGTERM');
    assert.is(await run.ended, 0, run.stderr());
  });
}

for (const each of [real, memory]) each.run();
