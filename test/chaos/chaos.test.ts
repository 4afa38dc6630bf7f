import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { type ChaosResult, runChaos } from '#test/chaos/chaos-run';
import { FAULTS } from '#test/chaos/faults/faults';
import { isError } from '#test/chaos/timeline';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';

/*
 * The cluster starts its own servers, because some faults kill them; this call only checks that the
 * programs are installed.
 */
const cassandra = cassandraOrSkip();
const nats = natsOrSkip();
const { suite } = cassandra.address === '' ? cassandra : nats;

/** First of 100 ports used neither by default nor by other tests. */
const PORTS = 23_700;

/** Light load, because other tests run in parallel. */
const LOAD = { callsPerSecond: 25, instances: 40, accounts: 2, warmS: 3, quietS: 3 } as const;

/** Maximum error share of the whole run: the first calls hit cold processes on a busy machine. */
const ERROR_SHARE_OF_ALL_MAX = 0.05;

/** Maximum error share after the kill of an engine. */
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

killed('the stores hold exactly what was acknowledged', () => {
  const { findings, observations } = result.check;
  assert.equal(findings.lines, []);
  assert.ok(observations > 100, `only ${observations} observations were checked`);
});

killed('accounts were charged for every observation', () => {
  const charged = result.usages.reduce((sum, { cycles_used }) => sum + cycles_used, 0);
  assert.ok(charged >= result.check.observations, `only ${charged} cycles were charged`);
});

killed('callers wait a little and get no errors', () => {
  const killedMs = result.disturbances[0]?.fromMs ?? 0;
  const all = result.log.calls;
  assert.ok(all.filter(isError).length <= ERROR_SHARE_OF_ALL_MAX * all.length, 'errors before it');
  // Exclude calls that ended before the kill.
  const calls = all.filter(({ endMs }) => endMs >= killedMs);
  const errors = calls.filter(isError);
  assert.ok(calls.length > 50, `only ${calls.length} calls`);
  const found = errors.map(({ id, outcome }) => `${id}: ${JSON.stringify(outcome)}`).join('\n');
  assert.ok(errors.length <= ERROR_SHARE_MAX * calls.length, found);
});

killed('every shard is served again', () => {
  const [kill] = result.disturbances;
  assert.ok(kill?.servedAfterMs !== undefined, 'not every shard was served again');
});

killed.run();
