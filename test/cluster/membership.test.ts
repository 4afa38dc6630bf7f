import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inProcessBus } from '#bus/in-process-bus';
import {
  announcementSubject,
  encodeAnnouncement,
  encodeHeartbeat,
  type Heartbeat,
  heartbeatSubject,
  type ShardAnnouncement,
} from '#cluster/heartbeat';
import { Membership } from '#cluster/membership';
import type { SelfReport } from '#cluster/membership-options';
import { ManualClock } from '#test/support/manual-clock';

/** What `node` says of itself, in its first life unless told otherwise. */
function report(node: string, change: Partial<SelfReport> = {}): SelfReport {
  const incarnation = `${node}-1`;
  const address = `${node}:8100`;
  const rest = { startedAtMs: 1, isLeaving: false, shards: [], shardCount: 8 };
  return { node, incarnation, address, ...rest, ...change };
}

/** A bus and a clock, and processes that join them. */
function newScene() {
  const clock = new ManualClock();
  const bugs: unknown[] = [];
  const bus = inProcessBus({ clock, onBug: (error) => bugs.push(error) });
  const strangers: (Heartbeat | ShardAnnouncement)[] = [];
  const join = (self: (() => SelfReport) | undefined, cluster = 'c'): Membership =>
    new Membership({
      bus,
      clock,
      cluster,
      prefix: 'test',
      service: 'engine',
      self,
      onForeignCluster: (stranger) => strangers.push(stranger),
    });
  /** A heartbeat of somebody who need not exist. */
  const say = (node: string, change: Partial<Heartbeat> = {}): void => {
    const rest = { cluster: 'c', service: 'engine', viewHash: '' } as const;
    const heartbeat = { ...report(node), ...rest, ...change };
    bus.publish(heartbeatSubject('test', 'engine'), encodeHeartbeat(heartbeat));
    clock.advance(0);
  };
  return { clock, bus, bugs, strangers, join, say };
}

const presentTo = (members: Membership): string[] =>
  members.present().map(({ incarnation }) => incarnation);
const knownTo = (members: Membership): string[] =>
  members
    .known()
    .map(({ incarnation }) => incarnation)
    .sort();

const alive = suite('members that are alive');

alive('see each other and themselves within a second, in the order of their names', () => {
  const { clock, join } = newScene();
  const [b, a] = [join(() => report('b')), join(() => report('a'))];
  assert.equal([presentTo(a), presentTo(b)], [['a-1'], ['b-1']]);
  clock.advance(1_000);
  assert.equal(
    [presentTo(a), presentTo(b)],
    [
      ['a-1', 'b-1'],
      ['a-1', 'b-1'],
    ],
  );
});

alive('are seen at once when they say so', () => {
  const { clock, join } = newScene();
  const [a, b] = [join(() => report('a')), join(() => report('b'))];
  b.beat();
  clock.advance(0);
  assert.equal(presentTo(a), ['a-1', 'b-1']);
});

alive('are seen by those who only watch, who are seen by nobody', () => {
  const { clock, join } = newScene();
  const [a, edge] = [join(() => report('a')), join(undefined)];
  clock.advance(1_000);
  assert.equal([presentTo(a), presentTo(edge)], [['a-1'], ['a-1']]);
  assert.throws(() => edge.announce(1, 1), /only watches/);
});

alive('have the same hash of the same view, and say it in their heartbeats', () => {
  const { clock, join } = newScene();
  const [a, b, edge] = [join(() => report('a')), join(() => report('b')), join(undefined)];
  assert.is.not(a.viewHash, b.viewHash);
  clock.advance(2_000);
  assert.is(a.viewHash, b.viewHash);
  assert.is(a.viewHash, edge.viewHash);
  const said = edge.present().map(({ viewHash }) => viewHash);
  assert.equal(said, [a.viewHash, a.viewHash]);
});

alive('tell everything that they say of themselves', () => {
  const { clock, join } = newScene();
  const edge = join(undefined);
  const a = join(() => report('a', { shards: [[3, 7]], startedAtMs: 5 }));
  const heard: Heartbeat[] = [];
  edge.onHeartbeat((heartbeat) => heard.push(heartbeat));
  clock.advance(1_000);
  const said = report('a', { shards: [[3, 7]], startedAtMs: 5 });
  const { viewHash } = a;
  assert.equal(heard, [{ ...said, cluster: 'c', service: 'engine', viewHash }]);
  const seen = { heardMs: clock.monotonicMs() };
  assert.equal(edge.present(), [{ ...heard[0], shards: [], ...seen }], 'but for the shards');
});

alive('hear their own heartbeats once, with or without a bus', async () => {
  const { clock, bus, join } = newScene();
  const a = join(() => report('a', { shards: [[3, 7]] }));
  const heard: Heartbeat[] = [];
  a.onHeartbeat((heartbeat) => heard.push(heartbeat));
  clock.advance(1_000);
  assert.is(heard.length, 1);
  await bus[Symbol.asyncDispose]();
  clock.advance(1_000);
  assert.is(heard.length, 2);
  assert.equal(presentTo(a), ['a-1']);
});

const silent = suite('members that fall silent');

silent('leave the view after 3 s, and are known for 60 s, with the time they were heard', () => {
  const { clock, join, say } = newScene();
  const edge = join(undefined);
  say('a');
  clock.advance(3_000);
  assert.equal(presentTo(edge), ['a-1']);
  clock.advance(1);
  assert.equal(presentTo(edge), []);
  clock.advance(56_999);
  const [known] = edge.known();
  assert.equal([known?.incarnation, known?.heardMs], ['a-1', 0]);
  clock.advance(1);
  assert.equal(knownTo(edge), []);
});

silent('are missed within a second after that', () => {
  const { clock, join, say } = newScene();
  const edge = join(undefined);
  say('a');
  let changes = 0;
  edge.onChange(() => {
    changes += 1;
  });
  clock.advance(3_000);
  assert.is(changes, 0);
  clock.advance(1_000);
  assert.is(changes, 1);
});

silent('come back with their next heartbeat', () => {
  const { clock, join, say } = newScene();
  const edge = join(undefined);
  say('a');
  clock.advance(10_000);
  const views: string[][] = [];
  edge.onChange(() => views.push(presentTo(edge)));
  say('a');
  assert.equal(views, [['a-1']]);
});

silent('are judged by the monotonic clock alone', () => {
  const { clock, join, say } = newScene();
  const edge = join(undefined);
  say('a');
  clock.stepWall(3_600_000);
  assert.equal(presentTo(edge), ['a-1']);
  clock.stepWall(-7_200_000);
  clock.advance(4_000);
  assert.equal(presentTo(edge), []);
});

const leaving = suite('members that leave');

leaving('leave every view at once, their own too, and stay known', () => {
  const { clock, join } = newScene();
  let isLeaving = false;
  const [a, b] = [join(() => report('a', { isLeaving })), join(() => report('b'))];
  clock.advance(1_000);
  isLeaving = true;
  a.beat();
  clock.advance(0);
  assert.equal([presentTo(a), presentTo(b)], [['b-1'], ['b-1']]);
  assert.equal(knownTo(b), ['a-1', 'b-1']);
  assert.is(a.viewHash, b.viewHash);
});

leaving('stay gone when an older heartbeat comes late', () => {
  const { join, say } = newScene();
  const edge = join(undefined);
  say('a', { isLeaving: true });
  say('a', { isLeaving: false });
  assert.equal(presentTo(edge), []);
});

const restarted = suite('members that were started again');

restarted('are present once, in their newest life, whatever is heard last', () => {
  const { join, say } = newScene();
  const edge = join(undefined);
  say('a', { incarnation: 'second', startedAtMs: 20 });
  say('a', { incarnation: 'first', startedAtMs: 10 });
  assert.equal(presentTo(edge), ['second']);
  assert.equal(knownTo(edge), ['first', 'second']);
});

restarted('make even their own former life see itself replaced', () => {
  const { join, say } = newScene();
  const former = join(() => report('a'));
  say('a', { incarnation: 'second', startedAtMs: 20 });
  assert.equal(presentTo(former), ['second']);
});

restarted('within one millisecond are told apart the same way by all', () => {
  const [one, other] = [newScene(), newScene()];
  const views = [one.join(undefined), other.join(undefined)];
  for (const incarnation of ['x', 'y']) one.say('a', { incarnation });
  for (const incarnation of ['y', 'x']) other.say('a', { incarnation });
  assert.equal(views.map(presentTo), [['y'], ['y']]);
});

restarted('change the view, even if no silence was noticed', () => {
  const { join, say } = newScene();
  const edge = join(undefined);
  say('a');
  const views: string[][] = [];
  edge.onChange(() => views.push(presentTo(edge)));
  say('a');
  say('a', { incarnation: 'second', startedAtMs: 20 });
  assert.equal(views, [['second']]);
});

const dead = suite('members proven dead');

dead('leave the view at once, and nothing of theirs is believed again', () => {
  const { clock, bus, join, say } = newScene();
  const edge = join(undefined);
  const heard: unknown[] = [];
  say('a');
  say('b');
  edge.onHeartbeat((heartbeat) => heard.push(heartbeat));
  edge.onAnnouncement((announcement) => heard.push(announcement));
  const views: string[][] = [];
  edge.onChange(() => views.push(presentTo(edge)));
  edge.forget('a-1');
  assert.equal(views, [['b-1']]);
  say('a');
  const late = { shard: 1, epoch: 9, incarnation: 'a-1', address: 'a:8100' };
  const announcement = { cluster: 'c', service: 'engine', ...late } as const;
  bus.publish(announcementSubject('test', 'engine'), encodeAnnouncement(announcement));
  clock.advance(0);
  assert.equal([presentTo(edge), knownTo(edge), heard], [['b-1'], ['b-1'], []]);
  say('a', { incarnation: 'a-2' });
  assert.equal(presentTo(edge), ['a-2', 'b-1']);
});

const announced = suite('announcements of shards');

announced('reach everybody in a later turn, those who make them too', () => {
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

announced('for another reach that one', () => {
  const { clock, join } = newScene();
  const [a, b] = [join(() => report('a')), join(() => report('b'))];
  const heard: unknown[] = [];
  b.onAnnouncement((announcement) => heard.push(announcement));
  a.announceFor({ incarnation: 'b-1', address: 'b:8100' }, { shard: 7, epoch: 3 });
  clock.advance(0);
  const expected = { shard: 7, epoch: 3, incarnation: 'b-1', address: 'b:8100' };
  assert.equal(heard, [{ cluster: 'c', service: 'engine', ...expected }]);
});

announced('reach those who make them without a bus', async () => {
  const { clock, bus, join } = newScene();
  const a = join(() => report('a'));
  await bus[Symbol.asyncDispose]();
  const heard: number[] = [];
  a.onAnnouncement(({ shard }) => heard.push(shard));
  a.announce(7, 3);
  clock.advance(0);
  assert.equal(heard, [7]);
});

const strange = suite('messages that are not to be believed');

strange('from another cluster are reported once in 30 s and change nothing', () => {
  const { clock, join, strangers } = newScene();
  const edge = join(undefined);
  const stranger = join(() => report('x'), 'another');
  stranger.announce(1, 1);
  clock.advance(29_000);
  assert.is(strangers.length, 1);
  assert.is(strangers[0]?.cluster, 'another');
  clock.advance(2_000);
  assert.is(strangers.length, 2);
  assert.equal(knownTo(edge), []);
  assert.ok(edge.ignoredCount > 25);
});

strange('from another service, or no messages at all, are counted', () => {
  const { clock, bus, join, say, strangers, bugs } = newScene();
  const edge = join(undefined);
  say('a', { service: 'limiter' });
  for (const subject of [heartbeatSubject, announcementSubject]) {
    bus.publish(subject('test', 'engine'), Uint8Array.of(1, 2, 3));
    bus.publish(subject('test', 'engine'), new TextEncoder().encode('{"cluster":"c"}'));
  }
  clock.advance(0);
  assert.equal([edge.ignoredCount, knownTo(edge), strangers, bugs], [5, [], [], []]);
});

strange('fill no memory: 4,096 incarnations are known, and the longest silent gives way', () => {
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

closed('say and hear nothing more', () => {
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

for (const one of [alive, silent, leaving, restarted, dead, announced, strange, closed]) one.run();
