import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runbookEntries } from '#deploy/console/runbook-entries';
import { alertsOf, durationText, servedText, troubleFirst } from '#pages/cluster/alerts';
import { arcPath, arcsOf } from '#pages/cluster/ring-arcs';
import {
  clusterReport,
  nodeReport,
  serviceReport,
  troubledReport,
} from '#test/console/pages/fakes/cluster-fixture';

const alerts = suite('the alerts of a cluster');

const engines = (...args: Parameters<typeof serviceReport>) =>
  clusterReport({ engine: { value: serviceReport(...args) } });

const unserved = (state: 'unowned' | 'moving', since_s: number) => ({
  unserved: { unowned: 0, 'not heard': 0, moving: 0, [state]: 1 },
  unserved_shards: [{ shard: 7, state, owner: 0, since_s }],
});

const CASES: readonly (readonly [
  string,
  Parameters<typeof alertsOf>[0],
  string,
  string | undefined,
])[] = [
  [
    'one shard without an owner',
    engines([nodeReport('engine-1')], 64, unserved('unowned', 12.3)),
    '1 shard of the engines has no owner for 12 s.',
    'ShardWithoutOwner',
  ],
  [
    'a condition that may have begun before the observation',
    { ...engines([nodeReport('engine-1')], 64, unserved('unowned', 599)), watched_s: 600 },
    '1 shard of the engines has no owner for 10 min or longer.',
    'ShardWithoutOwner',
  ],
  [
    'a shard whose move takes too long',
    engines([nodeReport('engine-1')], 64, unserved('moving', 8)),
    '1 shard of the engines is owned and not served for 8.0 s.',
    'ShardWithoutOwner',
  ],
  [
    'a sealed journal',
    engines([nodeReport('a'), nodeReport('b', { state: 'sealed', silent_s: null })], 4),
    'The journal of the engine b is sealed; 2 shards wait for the new owner.',
    'JournalFenced',
  ],
  [
    'a wrong clock',
    engines([nodeReport('engine-1', { state: 'wrong clock' })], 4),
    'The clock of engine-1 is wrong. The node releases its shards and claims none.',
    'ClockDeviates',
  ],
  [
    'a lost connection to NATS',
    clusterReport({ is_bus_connected: false }),
    'This process is not connected to NATS. Nodes without a heartbeat may be healthy.',
    'BusDisconnected',
  ],
  [
    'a service without nodes',
    engines([nodeReport('a', { silent_s: null, state: 'not heard' })], 4),
    'No engine sends heartbeats.',
    'ProcessDown',
  ],
  [
    'an unreachable store',
    engines([nodeReport('a')], 4, {
      table_fault: 'the store gave no answer in 800 ms',
      table_age_s: 33,
    }),
    'The engine shard owners were last read 33 s ago; reads fail: the store gave no answer in 800 ms.',
    'StoreFails',
  ],
  [
    'a node that sees other members',
    engines([nodeReport('engine-1', { agrees: false })], 4),
    'engine-1 sees other members than this process. This is usual for seconds after a start.',
    'BusDisconnected',
  ],
  [
    'a node without a load report',
    engines([nodeReport('engine-1'), nodeReport('engine-2', { load: { not_known: 'late' } })], 4),
    'engine-2 reports no load: late. Nodes of release 1.0 cannot report load.',
    'ProcessDown',
  ],
  [
    'nodes of two releases',
    engines([nodeReport('engine-1'), nodeReport('engine-2', { release: '1.0.0' })], 4),
    'Nodes run different releases: 1.0.0, 1.1.0.',
    undefined,
  ],
  [
    'a node that leaves',
    engines([nodeReport('engine-1'), nodeReport('engine-2', { state: 'leaving' })], 4),
    'engine-2 leaves; 2 shards remain to be handed off.',
    undefined,
  ],
  [
    'another cluster on the same subjects',
    engines([nodeReport('engine-1')], 4, { strangers: ['c2'] }),
    'Cluster c2 uses the same NATS subjects; its messages are ignored.',
    'ForgedMessages',
  ],
];

alerts('report unserved shards in the summary', () => {
  assert.is(servedText(clusterReport()), 'All shards are served');
  const one = engines([nodeReport('engine-1')], 64, unserved('moving', 0.4));
  assert.equal(alertsOf(one), [], 'a short move is normal');
  assert.is(servedText(one), '1 shard is not served yet');
  assert.is(servedText({ ...one, limiter: one.engine }), '2 shards are not served yet');
  const unknown = clusterReport({ limiter: { not_known: 'late' } });
  assert.is(servedText(unknown), 'All shards are served');
});

for (const [what, report, text, entry] of CASES) {
  alerts(
    `describe ${what} with ${entry === undefined ? 'no runbook entry' : `the runbook entry ${entry}`}`,
    () => {
      const found = alertsOf(report).find((alert) => alert.text === text);
      assert.ok(found, JSON.stringify(alertsOf(report)));
      assert.is(found.entry, entry);
    },
  );
}

alerts('are empty for a healthy cluster, and during a short move', () => {
  assert.equal(alertsOf(clusterReport()), []);
  assert.equal(alertsOf(engines([nodeReport('engine-1')], 64, unserved('moving', 0.4))), []);
  const mute = nodeReport('engine-1', { load: { not_known: 'no way there' } });
  assert.equal(alertsOf(engines([mute], 4)), [], 'limiters may reach no engine');
});

alerts('are sorted by severity', () => {
  const levels = alertsOf(troubledReport()).map(({ level }) => level);
  assert.equal(levels, ['critical', 'critical', 'warning']);
});

alerts('name runbook entries, each with an action', () => {
  const entries = runbookEntries();
  const named = new Set(
    CASES.flatMap(([, report]) => alertsOf(report).flatMap(({ entry }) => entry ?? [])),
  );
  for (const name of [...named, 'UnflushedTailGrows', 'CheckpointsFail']) {
    const titles = entries[name]?.map(([title]) => title);
    assert.equal(titles, ['Means', 'Look at', 'Do'], name);
  }
});

const order = suite('the nodes in the table');

order('are sorted by severity, then by name', () => {
  const nodes = [
    nodeReport('d'),
    nodeReport('b', { agrees: false }),
    nodeReport('c'),
    nodeReport('a', { state: 'leaving' }),
    nodeReport('z', { state: 'not heard' }),
  ];
  assert.equal(
    troubleFirst(nodes).map((place) => nodes[place]?.node),
    ['z', 'a', 'b', 'c', 'd'],
  );
});

const ring = suite('the picture of the ring');

ring('merges adjacent shards of one owner into an arc, and omits no shard', () => {
  assert.equal(arcsOf([0, 0, 1, null, null, 0]), [
    { from: 0, to: 1, owner: 0 },
    { from: 2, to: 2, owner: 1 },
    { from: 3, to: 4, owner: null },
    { from: 5, to: 5, owner: 0 },
  ]);
  assert.equal(arcsOf([]), []);
});

ring('can be drawn for 1 to 4,096 shards', () => {
  for (const count of [1, 2, 64, 4_096]) {
    const path = arcPath({ from: 0, to: 0 }, count, { inner: 66, outer: 88 });
    assert.match(path, /^M[\d. ]+A88 88 0 [01] 1 [\d. ]+L[\d. ]+A66 66 0 [01] 0 [\d. ]+Z$/);
  }
});

const durations = suite('a duration on the cluster page');

durations('is shown in seconds, minutes or hours', () => {
  const texts = [0, 3.21, 12.3, 119, 300, 7_300].map(durationText);
  assert.equal(texts, ['0.0 s', '3.2 s', '12 s', '119 s', '5 min', '2 h']);
});

for (const each of [alerts, order, ring, durations]) each.run();
