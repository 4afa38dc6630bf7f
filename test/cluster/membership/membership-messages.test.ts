import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { announcementSubject, heartbeatSubject } from '#cluster/heartbeat';
import { knownTo, newScene, presentTo, report } from '#test/cluster/membership/membership-fixture';

const announced = suite('announcements of shards');

announced('reach every process in a later turn, including their senders', () => {
  const { clock, join } = newScene();
  const [a, edge] = [join(() => report('a')), join(undefined)];
  const heard: string[] = [];
  a.onAnnouncement(({ shard, epoch, address }) => heard.push(`a ${shard} ${epoch} ${address}`));
  edge.onAnnouncement(({ shard, epoch, address }) => heard.push(`e ${shard} ${epoch} ${address}`));
  a.announce(7, 3);
  assert.equal(heard, []);
  clock.advance(0);
  assert.equal([...new Set(heard)].sort(), ['a 7 3 a:8100', 'e 7 3 a:8100']);
});

announced('in the name of another member have the incarnation and address of that member', () => {
  const { clock, join } = newScene();
  const [a, b] = [join(() => report('a')), join(() => report('b'))];
  const heard: unknown[] = [];
  b.onAnnouncement((announcement) => heard.push(announcement));
  a.announceFor({ incarnation: 'b-1', address: 'b:8100' }, { shard: 7, epoch: 3 });
  clock.advance(0);
  const expected = { shard: 7, epoch: 3, incarnation: 'b-1', address: 'b:8100' };
  assert.equal(heard, [{ cluster: 'c', service: 'engine', ...expected }]);
});

announced('reach their senders without a bus', async () => {
  const { clock, bus, join } = newScene();
  const a = join(() => report('a'));
  await bus[Symbol.asyncDispose]();
  const heard: number[] = [];
  a.onAnnouncement(({ shard }) => heard.push(shard));
  a.announce(7, 3);
  clock.advance(0);
  assert.equal(heard, [7]);
});

const strange = suite('messages that are not accepted');

strange('from another cluster are reported once in 30 s and change nothing', () => {
  const { clock, join, foreign } = newScene();
  const edge = join(undefined);
  const stranger = join(() => report('x'), 'another');
  stranger.announce(1, 1);
  clock.advance(29_000);
  assert.is(foreign.length, 1);
  assert.is(foreign[0]?.cluster, 'another');
  clock.advance(2_000);
  assert.is(foreign.length, 2);
  assert.equal(knownTo(edge), []);
  assert.ok(edge.ignoredCount > 25);
});

strange('from another service, or malformed, are counted', () => {
  const { clock, bus, join, say, foreign, bugs } = newScene();
  const edge = join(undefined);
  say('a', { service: 'limiter' });
  for (const subject of [heartbeatSubject, announcementSubject]) {
    bus.publish(subject('test', 'engine'), Uint8Array.of(1, 2, 3));
    bus.publish(subject('test', 'engine'), new TextEncoder().encode('{"cluster":"c"}'));
  }
  clock.advance(0);
  assert.equal([edge.ignoredCount, knownTo(edge), foreign, bugs], [5, [], [], []]);
});

const many = suite('messages of many incarnations');
many('use bounded memory: above 4,096 incarnations, the least recently heard is dropped', () => {
  const { join, say } = newScene();
  const edge = join(undefined);
  for (let n = 0; n < 4_100; n += 1) say('a', { incarnation: `a-${n}`, startedAtMs: n });
  const known = edge.known().map(({ incarnation }) => incarnation);
  assert.is(known.length, 4_096);
  assert.equal(
    [known.includes('a-3'), known.includes('a-4'), known.at(-1)],
    [false, true, 'a-4099'],
  );
});

const closed = suite('members that are disposed');

closed('send and receive nothing more', () => {
  const { clock, join, say } = newScene();
  const [a, edge] = [join(() => report('a')), join(undefined)];
  clock.advance(1_000);
  a[Symbol.dispose]();
  let count = 0;
  a.onChange(() => {
    count += 1;
  });
  clock.advance(10_000);
  say('b');
  assert.equal([presentTo(edge), count], [['b-1'], 0]);
});

for (const one of [announced, strange, many, closed]) one.run();
