import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { clusterInMemory, SHARDS } from '#test/ctl/cluster-fixture';
import { ctlOn, ID, limiting, serving } from '#test/ctl/ctl-on-cluster';

const mixed = suite('ctl with engines and limiters');

mixed('shows both services, or one service on request', async () => {
  await using cluster = await clusterInMemory(['e'], ['l', 'm']);
  await serving(cluster, { e: SHARDS });
  await limiting(cluster, { l: 4, m: 4 });
  const shown = (rows: Record<string, unknown>[]) =>
    rows.map(({ service, node, state, owns, agrees }) => [service, node, state, owns, agrees]);
  assert.equal(shown(await ctlOn(cluster).data('nodes')), [
    ['engine', 'e', 'serving', 8, true],
    ['limiter', 'l', 'serving', 4, true],
    ['limiter', 'm', 'serving', 4, true],
  ]);
  const engines = await ctlOn(cluster).data('nodes', '--service', 'engine');
  assert.equal(shown(engines), [['engine', 'e', 'serving', 8, true]]);
  const shards: { service: string; state: string }[] = await ctlOn(cluster).data('shards');
  assert.equal(
    shards.map(({ service, state }) => `${service} ${state}`),
    [...Array(SHARDS).fill('engine served'), ...Array(SHARDS).fill('limiter served')],
  );
  const limiters = await ctlOn(cluster).data('shards', '--service', 'limiter');
  assert.equal(limiters, shards.slice(SHARDS));
  const ring = await ctlOn(cluster).text('ring');
  assert.match(ring, /^engine +e +8 +8 +0 +0 +0-7\nlimiter +l +4 +4 +0 +0 +[\d,-]+\nlimiter +m /m);
  assert.not.match(await ctlOn(cluster).text('ring', '--service', 'limiter'), /engine/);
  assert.match(
    await ctlOn(cluster).refusal('ring', '--service', 'edge'),
    /--service.* 'edge' is invalid.* engine, limiter/,
  );
  assert.match(
    await ctlOn(cluster).refusal('instance', ID, '--service', 'engine'),
    /unknown option '--service'/,
  );
});

mixed('drains a limiter, and requires --service if an engine has the same name', async () => {
  await using cluster = await clusterInMemory(['a', 'b'], ['a', 'm']);
  await serving(cluster, { a: 4, b: 4 });
  await limiting(cluster, { a: 4, m: 4 });
  assert.match(
    await ctlOn(cluster).refusal('drain', 'a'),
    /an engine and a limiter have the name "a": add --service/,
  );
  const drained = await ctlOn(cluster).data('drain', 'a', '--service', 'limiter');
  const { service, node, address, shards_left } = drained;
  assert.equal([service, node, address, shards_left], ['limiter', 'a', 'a:8200', 0]);
  const rows = await cluster.stores.shards.load('limiter', SHARDS);
  assert.not.ok(
    rows.some(({ owner }) => owner === drained.incarnation),
    'the drained limiter owns no shard',
  );
  await limiting(cluster, { a: 0, m: SHARDS });
  assert.is(cluster.node('a').incarnation?.shards.size, 4, 'the engine keeps its shards');
  assert.match(
    await ctlOn(cluster).refusal('drain', 'm'),
    /there is no other node to take its shards/,
  );
  assert.equal(cluster.bugs, []);
});

mixed.run();
