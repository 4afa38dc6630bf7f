import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { announcementSubject, encodeAnnouncement, type Heartbeat } from '#cluster/heartbeat';
import { knownTo, newScene, presentTo, report } from '#test/cluster/membership/membership-fixture';

const alive = suite('members that are alive');

alive('see each other and themselves within a second, sorted by name', () => {
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

alive('are seen immediately when they send a heartbeat', () => {
  const { clock, join } = newScene();
  const [a, b] = [join(() => report('a')), join(() => report('b'))];
  b.beat();
  clock.advance(0);
  assert.equal(presentTo(a), ['a-1', 'b-1']);
});

alive('are seen by processes that only watch, which no member sees', () => {
  const { clock, join } = newScene();
  const [a, edge] = [join(() => report('a')), join(undefined)];
  clock.advance(1_000);
  assert.equal([presentTo(a), presentTo(edge)], [['a-1'], ['a-1']]);
  assert.throws(() => edge.announce(1, 1), /only watches/);
});

alive('have the same hash for the same view, and send it in their heartbeats', () => {
  const { clock, join } = newScene();
  const [a, b, edge] = [join(() => report('a')), join(() => report('b')), join(undefined)];
  assert.is.not(a.viewHash, b.viewHash);
  clock.advance(2_000);
  assert.is(a.viewHash, b.viewHash);
  assert.is(a.viewHash, edge.viewHash);
  const said = edge.present().map(({ viewHash }) => viewHash);
  assert.equal(said, [a.viewHash, a.viewHash]);
});

alive('send all fields of their self-report', () => {
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
  assert.equal(
    edge.present(),
    [{ ...heard[0], shards: [], ...seen }],
    'all fields except the shards',
  );
});

alive('receive their own heartbeats once, with or without a bus', async () => {
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

/** An edge that has just received one heartbeat of `a`. */
function heardOnce() {
  const scene = newScene();
  const edge = scene.join(undefined);
  scene.say('a');
  return { ...scene, edge };
}

silent(
  'leave the view after 3 s, and are remembered for 60 s with the time of their last heartbeat',
  () => {
    const { clock, edge } = heardOnce();
    clock.advance(3_000);
    assert.equal(presentTo(edge), ['a-1']);
    clock.advance(1);
    assert.equal(presentTo(edge), []);
    clock.advance(56_999);
    const [known] = edge.known();
    assert.equal([known?.incarnation, known?.heardMs], ['a-1', 0]);
    clock.advance(1);
    assert.equal(knownTo(edge), []);
  },
);

silent('are reported as absent within a second after the 3 s', () => {
  const { clock, edge } = heardOnce();
  let changes = 0;
  edge.onChange(() => {
    changes += 1;
  });
  clock.advance(3_000);
  assert.is(changes, 0);
  clock.advance(1_000);
  assert.is(changes, 1);
});

silent('return with their next heartbeat', () => {
  const { clock, edge, say } = heardOnce();
  clock.advance(10_000);
  const views: string[][] = [];
  edge.onChange(() => views.push(presentTo(edge)));
  say('a');
  assert.equal(views, [['a-1']]);
});

silent('are timed by the monotonic clock alone', () => {
  const { clock, edge } = heardOnce();
  clock.stepWall(3_600_000);
  assert.equal(presentTo(edge), ['a-1']);
  clock.stepWall(-7_200_000);
  clock.advance(4_000);
  assert.equal(presentTo(edge), []);
});

const leaving = suite('members that leave');

leaving('leave every view immediately, including their own, and stay known', () => {
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

leaving('stay absent when an older heartbeat arrives late', () => {
  const { join, say } = newScene();
  const edge = join(undefined);
  say('a', { isLeaving: true });
  say('a', { isLeaving: false });
  assert.equal(presentTo(edge), []);
});

const restarted = suite('members that were restarted');

restarted('are present once, as their newest incarnation, in any order of heartbeats', () => {
  const { join, say } = newScene();
  const edge = join(undefined);
  say('a', { incarnation: 'second', startedAtMs: 20 });
  say('a', { incarnation: 'first', startedAtMs: 10 });
  assert.equal(presentTo(edge), ['second']);
  assert.equal(knownTo(edge), ['first', 'second']);
});

restarted('replace their earlier incarnation in its own view too', () => {
  const { join, say } = newScene();
  const former = join(() => report('a'));
  say('a', { incarnation: 'second', startedAtMs: 20 });
  assert.equal(presentTo(former), ['second']);
});

restarted(
  'are ordered identically by all processes if they started in the same millisecond',
  () => {
    const [one, other] = [newScene(), newScene()];
    const views = [one.join(undefined), other.join(undefined)];
    for (const incarnation of ['x', 'y']) one.say('a', { incarnation });
    for (const incarnation of ['y', 'x']) other.say('a', { incarnation });
    assert.equal(views.map(presentTo), [['y'], ['y']]);
  },
);

restarted('change the view, even if no silence was detected', () => {
  const { join, say } = newScene();
  const edge = join(undefined);
  say('a');
  const views: string[][] = [];
  edge.onChange(() => views.push(presentTo(edge)));
  say('a');
  say('a', { incarnation: 'second', startedAtMs: 20 });
  assert.equal(views, [['second']]);
});

const dead = suite('members that are proven dead');

dead('leave the view immediately, and their messages are ignored from then on', () => {
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

for (const one of [alive, silent, leaving, restarted, dead]) one.run();
