import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { clusterPlan, processFolder } from '#deploy/local/cluster-plan';
import { birthOf } from '#deploy/local/processes/process-birth';
import { recordServer } from '#deploy/local/servers/server-record';
import type { ProfileName } from '#loadtest/k6/profile';
import { textSummary } from '#loadtest/k6/text-summary';
import { verdictOf } from '#loadtest/k6/verdict';
import { ProcessWatch } from '#loadtest/processes/process-watch';
import { sendLoad } from '#loadtest/sent-load';
import { goodFigures, usualScope } from '#test/loadtest/run-figures';

/** Parses process ids by name from a text such as `a=1 b=2`. */
function pids(text: string): Map<string, number> {
  const pairs = text.split(' ').map((pair) => pair.split('='));
  return new Map(pairs.map(([name = '', pid]) => [name, Number(pid)]));
}

const watched = suite('the process watch');

for (const [title, looks, killed, ended] of [
  ['reports nothing while all processes run', ['a=1 b=2', 'a=1 b=2'], undefined, []],
  ['reports a process that ended', ['a=1 b=2', 'a=1', 'a=1'], undefined, ['b (process 2)']],
  ['reports a process that restarted', ['a=1 b=2', 'a=1 b=3'], undefined, ['b (process 2)']],
  [
    'reports a process that restarted after a gap',
    ['a=1', 'b=2', 'a=3 b=2'],
    undefined,
    ['a (process 1)'],
  ],
  ['ignores a process that starts during the load', ['a=1', 'a=1 b=2'], undefined, []],
  [
    'reports a process that starts and ends during the load',
    ['a=1', 'a=1 b=2', 'a=1'],
    undefined,
    ['b (process 2)'],
  ],
  ['ignores a process that is killed on purpose', ['a=1 b=2', 'a=1', 'a=1 b=3'], 2, []],
  [
    'reports the restarted process of a killed process if it ends',
    ['b=2', 'b=3', 'a=1'],
    2,
    ['b (process 3)'],
  ],
  ['reports a process that ends beside a killed process', ['a=1 b=2', 'c=3'], 2, ['a (process 1)']],
] as const) {
  watched(title, () => {
    const [first, ...others] = looks.map(pids);
    const watch = new ProcessWatch(first ?? new Map());
    if (killed !== undefined) watch.killed(killed);
    for (const look of others) watch.look(look);
    assert.equal(watch.ended, ended);
  });
}

/**
 * Fake k6: kills the process KILLED, if set, and ends after the processes KILLED and AWAITED have
 * ended.
 */
const K6 = `#!/bin/sh
echo 'load: begins'
if [ -n "$KILLED" ]; then kill -9 "$KILLED"; fi
for pid in $KILLED $AWAITED; do
  while grep -q '^State:.[RSD]' "/proc/$pid/status" 2>/dev/null; do sleep 0.02; done
done
echo '{}' > "$METRICS_FILE"
echo 'load: ends'
`;

type Ends = { readonly killed?: string; readonly awaited?: string };

/**
 * Sends a load with profile `name` to a cluster of three fake engines. The engines `killed` and
 * `awaited` end during the load.
 */
async function sentLoad(name: ProfileName, { killed = '', awaited = '' }: Ends) {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'identity-engine-ended-'));
  const cluster = clusterPlan({ folder: folder.path, ports: 26_000 });
  using running = new DisposableStack();
  const found = new Map<string, number>();
  for (const engine of ['engine1', 'engine2', 'engine3']) {
    const child = spawn('sleep', ['60']);
    running.defer(() => void child.kill('SIGKILL'));
    const { pid = 0 } = child;
    const place = processFolder(folder.path, engine);
    mkdirSync(place, { recursive: true });
    const birth = birthOf(pid) ?? '';
    const rest = { startedAt: '', address: '', logFile: '' };
    await recordServer(place, { name: engine, pid, birth, ...rest });
    found.set(engine, pid);
  }
  const program = join(folder.path, 'k6');
  writeFileSync(program, K6);
  chmodSync(program, 0o755);
  const pidOf = (engine: string) => `${found.get(engine) ?? ''}`;
  const variables = { KILLED: pidOf(killed), AWAITED: pidOf(awaited) };
  const sent = await sendLoad(
    { program, folder: folder.path, variables },
    { baseUrl: cluster.address, apiKey: '', cluster },
    { demand: { name, perS: 10, seconds: 0.3 }, print: () => undefined },
  );
  return { ...sent, pidOf };
}

const ended = suite('a load on a cluster');

ended(
  'is void if a process ends, despite good figures, and the report names the process',
  async () => {
    const { faults, pidOf } = await sentLoad('soak', { killed: 'engine2' });
    const named = `engine2 (process ${pidOf('engine2')})`;
    assert.equal(faults, [`${named} ended during the run`]);
    const scope = usualScope('soak');
    const metrics = goodFigures(scope);
    const verdict = verdictOf(scope, metrics, { faults, hasOwnAccounts: true });
    assert.is(verdict.outcome, 'void');
    const text = textSummary({ scope, metrics, verdict });
    assert.ok(text.includes(`**Void:** ${named} ended during the run.`), text);
  },
);

ended('has no fault if no process ends', async () => {
  assert.equal((await sentLoad('soak', {})).faults, []);
});

ended('tolerates the end of the engine that `failover` kills, but of no other engine', async () => {
  const alone = await sentLoad('failover', { awaited: 'engine1' });
  assert.equal(alone.faults, []);
  const pid = alone.pidOf('engine1');
  assert.match(alone.events.join(), new RegExp(`^Killed,engine1 \\(process ${pid}\\), `));
  const both = await sentLoad('failover', { killed: 'engine3', awaited: 'engine1' });
  assert.equal(both.faults, [`engine3 (process ${both.pidOf('engine3')}) ended during the run`]);
});

for (const group of [watched, ended]) group.run();
