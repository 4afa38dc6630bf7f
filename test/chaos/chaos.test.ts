import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { type ChaosResult, runChaos } from '#test/chaos/chaos-run';
import { FAULTS } from '#test/chaos/faults/faults';
import { isError } from '#test/chaos/timeline';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';

/*
 * The cluster starts its own servers, because some faults kill servers. These calls only check that
 * Cassandra and NATS are installed.
 */
const cassandra = cassandraOrSkip();
const nats = natsOrSkip();
const { suite } = cassandra.address === '' ? cassandra : nats;

/** First of 100 ports that no default and no other test uses. */
const PORTS = 23_700;

/** Light load, because other tests run at the same time. */
const LOAD = { callsPerSecond: 25, instances: 40, accounts: 2, warmS: 3, quietS: 3 } as const;

/** Maximum share of failed calls in the whole run. The first calls are slow on a busy machine. */
const ERROR_SHARE_OF_ALL_MAX = 0.05;

/** Maximum share of failed calls after the kill. */
const ERROR_SHARE_MAX = 0.001;

const killed = suite('when an engine is killed under load');

let folder = '';
let result: ChaosResult;

killed.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chaos-'));
  const faults = FAULTS.filter(({ name }) => name === 'kill-engine');
  const print = () => undefined;
  result = await runChaos({ folder, ports: PORTS, faults, seed: 1, print, ...LOAD });
});

killed.after(async () => {
  await rm(folder, { recursive: true, force: true });
});

killed('the stores hold exactly the acknowledged calls', () => {
  const { findings, observations } = result.check;
  assert.equal(findings.lines, []);
  assert.ok(observations > 100, `only ${observations} observations were checked`);
});

killed('webhooks deliver every change', () => {
  // `findings` names a lost change; this line shows that there were changes.
  const { lagsMs } = result.deliveries;
  assert.ok(lagsMs.length > 40, `only ${lagsMs.length} changes were delivered`);
});

killed('accounts are charged for every observation', () => {
  const charged = result.usages.reduce((sum, { cycles_used }) => sum + cycles_used, 0);
  assert.ok(charged >= result.check.observations, `only ${charged} cycles were charged`);
});

killed('almost no call fails', () => {
  const killedMs = result.disturbances[0]?.fromMs ?? 0;
  const all = result.log.calls;
  assert.ok(all.filter(isError).length <= ERROR_SHARE_OF_ALL_MAX * all.length, 'too many errors');
  // Only calls that ended after the kill.
  const calls = all.filter(({ endMs }) => endMs >= killedMs);
  const errors = calls.filter(isError);
  assert.ok(calls.length > 50, `only ${calls.length} calls`);
  const found = errors.map(({ id, outcome }) => `${id}: ${JSON.stringify(outcome)}`).join('\n');
  assert.ok(errors.length <= ERROR_SHARE_MAX * calls.length, found);
});

killed('other engines serve every shard again', () => {
  const [kill] = result.disturbances;
  assert.ok(kill?.servedAfterMs !== undefined, 'some shard was not served again');
});

killed.run();
