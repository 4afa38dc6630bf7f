import * as assert from 'uvu/assert';
import { createInstance, observationAt, process } from '#test/support/calls/scene';
import { runMain } from '#test/support/process-run';
import { type OwnCluster, startOwnCluster } from '#test/support/servers/own-cluster';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';

const { address: cassandra, suite } = cassandraOrSkip();
const { address: nats } = natsOrSkip();

/** TLS settings, as in most clusters. Other tests use plain text. */
const TLS = { SERVICE_TLS_FOLDER: 'test/grpc/certificates/member' };

let cluster: OwnCluster;
let id = '';

const running = suite('ctl with a cluster of processes');

running.before(async () => {
  cluster = await startOwnCluster({ cassandra, nats }, ['a', 'b'], {
    limiters: ['limiter'],
    variables: TLS,
  });
  id = await createInstance(cluster.caller, { name: 'Ada' });
  await process(cluster.caller, id, observationAt(0));
  await process(cluster.caller, id, observationAt(5, { mode_target: 'ASSERTION' }));
});
running.after(async () => {
  await cluster[Symbol.asyncDispose]();
});

/** Runs `main.ts ctl` with the variables of the cluster. */
async function ctl(...argv: string[]) {
  const run = runMain(['ctl', ...argv], cluster.variables);
  const code = await run.ended;
  return { code, out: run.stdout(), err: run.stderr() };
}

async function dataOf(...argv: string[]) {
  const { code, out, err } = await ctl(...argv, '--json');
  assert.is(code, 0, err);
  assert.is(err, '');
  return JSON.parse(out);
}

running('shows both engines with the same view and all shards', async () => {
  const nodes = await dataOf('nodes', '--service', 'engine');
  const found = nodes.map(({ node, state, agrees }: Record<string, unknown>) => [
    node,
    state,
    agrees,
  ]);
  assert.equal(found, [
    ['a', 'serving', true],
    ['b', 'serving', true],
  ]);
  const shards: { state: string }[] = await dataOf('shards', '--service', 'engine');
  assert.equal([...new Set(shards.map(({ state }) => state))], ['served']);
  assert.is(shards.length, 16);
  const { out } = await ctl('ring');
  assert.match(out, /^engine +a +8 +\d+ +\d+ +\d+ +[\d,-]+\nengine +b +8 /m);
});

running('shows the state of an instance in the memory of its engine', async () => {
  const { address, is_active, memory, last_cycles } = await dataOf('instance', id);
  assert.equal([is_active, memory], [true, { version: 3, generation: 1, cycle: 2 }]);
  assert.equal(
    last_cycles.map(({ mode }: { mode: string }) => mode),
    ['assertion', 'order'],
  );
  assert.match(address, /^127\.0\.0\.1:\d+$/);
});

running('shows the events in the journal of the owner', async () => {
  let out = '';
  // Retry, because the journal may truncate the records before a busy machine reads them.
  for (let attempts = 0; attempts < 3 && !out.includes('observed assertion 0.4'); attempts += 1) {
    const newest = await createInstance(cluster.caller, { name: 'Ben' });
    const observation = observationAt(0, { mode_target: 'ASSERTION', signal_strength: 0.4 });
    await process(cluster.caller, newest, observation);
    const { incarnation } = await dataOf('instance', newest);
    ({ out } = await ctl('journal', incarnation));
  }
  assert.match(out, / {2}observed assertion 0\.4, confidence 1/);
  assert.match(out, / {2}created "Ben" for \w{12}/);
});

running('drains an engine without failed calls or lost history', async () => {
  const { incarnation: owner } = await dataOf('instance', id);
  const nodes: { node: string; incarnation: string }[] = await dataOf('nodes');
  const name = nodes.find(({ incarnation }) => incarnation === owner)?.node ?? '';
  const draining = ctl('drain', name);
  const answered = await process(cluster.caller, id, observationAt(10));
  assert.is(answered.snapshot.cycle, 3);
  const { code, out, err } = await draining;
  assert.is(code, 0, err);
  assert.match(out, /^0 shards left$/m);
  assert.is((await process(cluster.caller, id, observationAt(15))).snapshot.cycle, 4);
  const after = await dataOf('nodes', '--service', 'engine');
  const drained = after.find(({ node }: { node: string }) => node === name);
  assert.equal([drained.state, drained.owns], ['leaving', 0]);
  const run = cluster.engines.get(name);
  assert.ok(run);
  assert.is(run.child.exitCode, null, 'the drained engine runs until it is stopped');

  const moved = await dataOf('instance', id);
  assert.is.not(moved.incarnation, owner);
  assert.equal([moved.memory.version, moved.epoch > 1], [5, true]);
  const verified = await ctl('verify', id);
  assert.is(verified.code, 0, verified.out);
  assert.match(verified.out, /gives the head, bit for bit/);
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0, run.stderr());
  assert.match((await ctl('journal', owner)).out, new RegExp(`^${owner} .* yes +0$`, 'm'));
});

running('does not drain the last engine', async () => {
  const [{ node }] = (await dataOf('nodes', '--service', 'engine')).filter(
    ({ state }: { state: string }) => state === 'serving',
  );
  const { code, err } = await ctl('drain', node);
  assert.is(code, 1);
  assert.match(err, /^ctl: there is no other node to take its shards\n$/);
});

running('reports that it cannot read a cluster in memory', async () => {
  const run = runMain(['ctl', 'nodes'], {});
  assert.is(await run.ended, 1);
  assert.match(run.stderr(), /^ctl: SERVICE_STORAGE: ctl cannot read the memory of another/);
});

running.run();
