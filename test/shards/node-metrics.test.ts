import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runtimeMetrics } from '#actor-runtime/runtime-metrics';
import { nodeMetrics } from '#shards/journal-writer';
import { createMetrics } from '#telemetry/metrics';
import { scrapedOf } from '#test/support/scraped';

const OURS =
  /^(identity_(activation|mailbox|actor)|checkpoint_|journal_|recovered|recovery|shard_|not_owner)/;

const actors = suite('the metrics of actors');

actors('record activations, mailbox waits, checkpoints and resident actors', async () => {
  const metrics = createMetrics();
  const ofMeters = runtimeMetrics(metrics, 'limiter', 'meter');
  ofMeters.activated(0.25);
  ofMeters.mailboxWaited(0.5);
  ofMeters.checkpointed(20);
  ofMeters.checkpointFailed();
  ofMeters.resident({ actors: 3, bytes: 4_000, unflushedRecords: 5 });
  assert.equal(await scrapedOf(metrics, OURS), {
    'identity_activation_seconds_sum{source="store"}': 0.25,
    'identity_activation_seconds_count{source="store"}': 1,
    identity_mailbox_wait_seconds_sum: 0.5,
    identity_mailbox_wait_seconds_count: 1,
    'checkpoint_dirty_age_seconds_sum{service="limiter"}': 20,
    'checkpoint_dirty_age_seconds_count{service="limiter"}': 1,
    'checkpoint_failures_total{service="limiter"}': 1,
    'identity_actors_active{actor="meter"}': 3,
    'identity_actor_bytes{actor="meter"}': 4_000,
    'journal_unflushed_records{service="limiter",actor="meter"}': 5,
  });
});

actors('show 0 resident actors before the first sweep', async () => {
  const metrics = createMetrics();
  runtimeMetrics(metrics, 'engine', 'instance');
  const { text } = await metrics.scrape();
  assert.match(text, /^identity_actors_active\{actor="instance"\} 0$/m);
  assert.match(text, /^identity_actor_bytes\{actor="instance"\} 0$/m);
  assert.match(text, /^journal_unflushed_records\{service="engine",actor="instance"\} 0$/m);
});

const node = suite('the metrics of a node');

node('record appends, recoveries, and shard moves and seals by reason', async () => {
  const metrics = createMetrics();
  const ofNode = nodeMetrics(metrics, 'engine');
  ofNode.appended(7, 0.125);
  ofNode.tailRecovered(11);
  ofNode.moved('takeover');
  ofNode.sealed('stalled', 'a-1');
  ofNode.takenOver(2);
  ofNode.fenced();
  ofNode.notOwner();
  assert.equal(await scrapedOf(metrics, OURS), {
    'journal_append_seconds_sum{service="engine"}': 0.125,
    'journal_append_seconds_count{service="engine"}': 1,
    'journal_group_records_sum{service="engine"}': 7,
    'journal_group_records_count{service="engine"}': 1,
    'recovered_records_total{service="engine"}': 11,
    'journal_fenced_total{service="engine"}': 1,
    'not_owner_total{service="engine"}': 1,
    'recovery_seconds_sum{service="engine"}': 2,
    'recovery_seconds_count{service="engine"}': 1,
    'shard_moves_total{service="engine",reason="takeover"}': 1,
    'shard_seals_total{service="engine",reason="stalled"}': 1,
  });
});

node('start at 0, so that Prometheus sees the first event', async () => {
  const metrics = createMetrics();
  nodeMetrics(metrics, 'limiter');
  const { text } = await metrics.scrape();
  assert.match(text, /^journal_fenced_total\{service="limiter"\} 0$/m);
  assert.match(text, /^not_owner_total\{service="limiter"\} 0$/m);
  for (const reason of ['first', 'takeover', 'given', 'handed_off']) {
    assert.ok(text.includes(`shard_moves_total{service="limiter",reason="${reason}"} 0`), reason);
  }
  for (const reason of ['dead', 'stalled', 'unreachable']) {
    assert.ok(text.includes(`shard_seals_total{service="limiter",reason="${reason}"} 0`), reason);
  }
});

for (const group of [actors, node]) group.run();
