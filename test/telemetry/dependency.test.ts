import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { statementObserver } from '#storage/cassandra/statements';
import { Dependencies } from '#telemetry/dependency';
import { createMetrics } from '#telemetry/metrics';
import { ManualClock } from '#test/support/manual-clock';
import { noteLogger } from '#test/support/test-logger';

function newScene() {
  const clock = new ManualClock();
  const lines: string[] = [];
  const logger = noteLogger((line, level) => void lines.push(`${level} ${line}`));
  const dependencies = new Dependencies({ clock, logger });
  return { clock, lines, dependencies, store: dependencies.watch('Cassandra', 'db:9042') };
}

const outage = suite('an outage of a dependency');

// Report 33: With Cassandra frozen for 45 s, no log and no probe named Cassandra.
outage('is logged when it begins and when it ends, and adds a line to the probe', () => {
  const { clock, lines, dependencies, store } = newScene();
  const observe = statementObserver(createMetrics(), store);
  const startedMs = clock.wallMs();
  for (let second = 2; second <= 45; second += 1) {
    clock.advance(second === 2 ? 2_000 : 1_000);
    observe('shard_load', 2, 'timeout');
  }
  const since = new Date(startedMs).toISOString();
  const named = `dependency=Cassandra address=db:9042 since=${since}`;
  assert.equal(lines, [`warn a dependency does not answer ${named} why=timeout`]);
  assert.equal(dependencies.notes, [`Cassandra at db:9042 has not answered since ${since}`]);
  observe('shard_load', 0.01, undefined);
  observe('shard_load', 0.01, undefined);
  assert.equal(lines.slice(1), [`info a dependency answers again ${named} seconds=45`]);
  assert.equal(dependencies.notes, []);
});

outage('is not reported while other requests are answered', () => {
  const { clock, lines, store } = newScene();
  for (let second = 0; second < 60; second += 1) {
    clock.advance(1_000);
    store.unanswered('timeout', 2);
    if (second % 2 === 0) store.answered();
  }
  assert.equal(lines, []);
});

outage('is not reported after one unanswered request, nor after a refusal', () => {
  const { clock, lines, store } = newScene();
  const observe = statementObserver(createMetrics(), store);
  observe('shard_load', 10, 'timeout');
  for (let second = 0; second < 10; second += 1) {
    clock.advance(1_000);
    observe('shard_load', 0.1, 'refused');
  }
  assert.equal(lines, []);
});

outage('is reported immediately if the only connection is lost', () => {
  const { clock, lines, dependencies } = newScene();
  const bus = dependencies.watch('NATS', 'nats:4222');
  bus.lost('the server is away or silent');
  bus.lost('the server is away or silent');
  assert.is(lines.length, 1);
  assert.match(lines[0] ?? '', /^warn the connection to a dependency is lost dependency=NATS/);
  clock.advance(1_500);
  bus.answered();
  assert.match(lines[1] ?? '', /^info a dependency answers again .* seconds=1\.5$/);
});

outage('is no longer listed after the watch of the dependency is disposed', () => {
  const { dependencies } = newScene();
  const peer = dependencies.watch('limiter', 'old:8200');
  peer.lost('closed');
  assert.is(dependencies.notes.length, 1);
  peer[Symbol.dispose]();
  assert.equal(dependencies.notes, []);
});

outage.run();
