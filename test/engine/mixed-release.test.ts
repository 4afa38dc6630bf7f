import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { decodeHeartbeat, encodeHeartbeat, heartbeatSubject } from '#cluster/heartbeat';
import { clusterInMemory, SHARDS } from '#test/ctl/cluster-fixture';
import { ID, serving } from '#test/ctl/ctl-on-cluster';
import { CREATE } from '#test/engine/instance/instance-fixture';
import { faultOf } from '#test/engine/past/past-fixture';

/** Subject of heartbeats in `clusterInMemory`. */
const SUBJECT = heartbeatSubject('test', 'engine');

const mixed = suite('an engine that hears an engine of release 1.0');

mixed('refuses tags, and creates instances without tags', async () => {
  await using cluster = await clusterInMemory(['a']);
  await serving(cluster, { a: SHARDS });
  const tagged = { ...CREATE, tagsJson: '{"team":"a"}' };
  await cluster.ask('inst_00000000000000bb', tagged);
  const old = encodeHeartbeat({
    ...{ cluster: 'c1', service: 'engine', node: 'old', incarnation: 'o1', address: 'old:8100' },
    ...{ startedAtMs: 1, isLeaving: true, viewHash: '', shards: [], shardCount: SHARDS },
  });
  const heard = Promise.withResolvers<void>();
  using _ = cluster.bus.subscribe(SUBJECT, (message) => {
    if (decodeHeartbeat(message)?.node === 'old') heard.resolve();
  });
  cluster.bus.publish(SUBJECT, old);
  await heard.promise;
  assert.is((await faultOf(() => cluster.ask(ID, tagged))).reason, 'upgrade_in_progress');
  await cluster.ask(ID, CREATE);
});

mixed.run();
