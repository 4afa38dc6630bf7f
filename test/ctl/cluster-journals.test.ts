import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { rowOfMeter } from '#storage/ports/meter-codec';
import type { MeterRecord } from '#storage/ports/meters';
import { groupOf } from '#test/actor-runtime/commit-log/journal-records';
import { clusterInMemory, SHARDS } from '#test/ctl/cluster-fixture';
import { ctlOn, ID, serving } from '#test/ctl/ctl-on-cluster';
import { CREATE, observed, process, seen } from '#test/engine/instance/instance-fixture';
import { appendOf } from '#test/storage/contracts/journal-fixture';

const journals = suite('ctl journal');

journals('shows the head of a journal and the records of its tail, newest first', async () => {
  await using cluster = await clusterInMemory(['a']);
  await serving(cluster, { a: SHARDS });
  await cluster.ask(ID, { ...CREATE, name: 'Ada "the\u0007first"' });
  await cluster.ask(ID, observed({ mode: 2, signal: 0.7 }));
  const at = (seconds: number) => seen({ timestampMs: Date.now() + seconds * 1_000 });
  await cluster.ask(ID, process(at(2), at(4)));
  await cluster.ask(ID, { kind: 'reset', mode: 'default' });
  const rename = { kind: 'rename', name: undefined, description: undefined } as const;
  await cluster.ask(ID, { ...rename, tagsJson: '{"team":"a"}' });
  const incarnation = cluster.node('a').incarnation?.id ?? '';
  const text = await ctlOn(cluster).text('journal', incarnation);
  const [, head = '', , , ...lines] = text.split('\n');
  assert.match(head, new RegExp(`^${incarnation} +a:8100 +0 +\\d+ +no +8$`));
  const whats = lines.map((line) => /(\d) +\d{4}-\S+Z +(.*)$/.exec(line)?.slice(1));
  assert.equal(whats, [
    ['5', 'tags changed'],
    ['4', 'reset to default'],
    ['3', 'observed 2'],
    ['2', 'observed order 0.7, confidence 1'],
    ['1', 'created "Ada \\"the\\u0007first\\"" for Acc0unt00001'],
  ]);
  const data = await ctlOn(cluster).data('journal', incarnation, '--last', '1');
  assert.equal([data.address, data.is_sealed, data.records.length], ['a:8100', false, 1]);
  const tagged = ['tagged', '{"team":"a"}', 'renamed', null, null];
  assert.equal(data.records[0].event.slice(3), tagged);
});

journals('reports corrupt records and continues', async () => {
  await using cluster = await clusterInMemory(['a']);
  await serving(cluster, { a: SHARDS });
  const { journals: store } = cluster.stores;
  await store.begin('old', 'old:8100');
  const put = (slot: number, records: Uint8Array) => store.append(appendOf('old', slot, records));
  await put(0, Buffer.from('{"no":"group"}'));
  await put(1, groupOf([]));
  const record = { actor: 'instance', actorId: ID, callId: 5, atMs: 0, event: {} };
  const group = [1, 2].map((version) => ({ ...record, version }));
  await put(2, groupOf(group));
  const halfBroken = Buffer.from(`${Buffer.from(groupOf(group))}`.replace(',2,5,0,{}]', ',2,5,'));
  await put(3, halfBroken);
  await store.seal('old');
  const text = await ctlOn(cluster).text('journal', 'old');
  assert.match(text, /^old +old:8100 +0 +4 +yes +0$/m);
  assert.match(text, /^3 +- +- +- +- +corrupt: not JSON\n3 +instance +inst_0+aa +1 /m);
  assert.match(
    text,
    /^2 +instance +inst_0+aa +2 .*\n2 +instance +inst_0+aa +1 +1970-\S+ +the journal/m,
  );
  assert.match(text, /^0 +- +- +- +- +corrupt: not a group of a known format$/m);
});

journals('shows the events of a meter, and counts the shards of a limiter', async () => {
  await using cluster = await clusterInMemory([]);
  const { journals: store, shards } = cluster.stores;
  await store.begin('lim', 'lim:8200');
  const meter: MeterRecord = {
    ...{ monthEndsAtMs: Date.UTC(2026, 1, 1), monthWatermark: 52, cyclesUsed: 40, cyclesLost: 10 },
    ...{ cyclesExpired: 3, windowEndsAtMs: 0, windowWatermark: 14, reservations: [] },
  };
  const record = { actor: 'meter', actorId: 'Acc0unt00001', version: 7, callId: 0, atMs: 0 };
  const group = [meter, [1, 2]].map((each) => {
    const event = Array.isArray(each) ? each : rowOfMeter(each);
    return { ...record, event };
  });
  await store.append(appendOf('lim', 0, groupOf(group)));
  await shards.change({ service: 'limiter', shard: 3, from: undefined, owner: 'lim' });
  const text = await ctlOn(cluster).text('journal', 'lim');
  assert.match(text, /^lim +lim:8200 +0 +1 +no +1$/m);
  assert.match(
    text,
    /Z +watermarks: 52 cycles, 14 requests; 40 used \(3 expired, 10 lost\), 0 reserved$/m,
  );
  assert.match(text, /^0 +meter +Acc0unt00001 +7 .*Z +.*the row has 2 numbers/m);
});

journals('reports errors in its arguments', async () => {
  await using cluster = await clusterInMemory(['a']);
  assert.match(
    await ctlOn(cluster).refusal('journal', 'unknown'),
    /no journal of unknown: "ctl nodes"/,
  );
  assert.match(
    await ctlOn(cluster).refusal('journal', 'x', '--last', 'some'),
    /--last.* must be a whole number/,
  );
});

journals.run();
