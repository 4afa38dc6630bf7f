import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AttemptLog, BodyMemory } from '#engine/webhooks/attempt-log';
import { COURIER_AWAY, EndpointLoop, type Message } from '#engine/webhooks/endpoint-loop';
import { Fault } from '#errors/fault';
import type { CourierOutcome } from '#grpc/courier-messages';
import { TRANSITIONS } from '#identity/transitions';
import type { FeedRow } from '#storage/ports/feeds';
import { ManualClock } from '#test/support/manual-clock';
import { pass } from '#test/support/passing';
import { type Endpoint, type PauseCause, type Progress, progressFrom } from '#webhooks/endpoint';

const ENDPOINT: Endpoint = {
  id: 'whk_0123456789abcdef',
  url: 'https://hooks.example/events',
  description: '',
  types: 1 << TRANSITIONS.indexOf('created'),
  rowsMax: 1,
  secrets: [{ sealed: 'new' }, { sealed: 'old', untilMs: Date.UTC(2026, 0, 15, 13) }],
  createdAtMs: 0,
  paused: undefined,
};

const CREATED = TRANSITIONS.indexOf('created');
const DELETED = TRANSITIONS.indexOf('deleted');
const OK: CourierOutcome = { kind: 'answered', status: 204, retryAfter: undefined };

/** A loop on a feed that grows, with a courier that a test answers for. */
function newScene(progress = progressFrom(0), endpoint: Partial<Endpoint> = {}) {
  const clock = new ManualClock();
  const feed = { floor: 0, rows: [] as FeedRow[], isAway: false };
  const sent: Message[] = [];
  const saved: Progress[] = [];
  const pauses: PauseCause[] = [];
  const attempts = new AttemptLog(new BodyMemory());
  const courier = { answer: async (_: Message): Promise<CourierOutcome> => OK };
  const ports = {
    clock,
    random: () => 0.5,
    read: async (from: number, count: number) => {
      if (feed.isAway) throw new Fault('service_unavailable', 'the feed is away');
      return { floor: feed.floor, rows: feed.rows.slice(from, from + count) };
    },
    send: (message: Message) => {
      sent.push(message);
      return courier.answer(message);
    },
    save: async (present: Progress) => void saved.push(present),
    pause: async (cause: PauseCause) => {
      pauses.push(cause);
      void loop.end();
    },
    onBug: (error: unknown) => {
      throw error;
    },
  };
  const loop = new EndpointLoop({ ...ENDPOINT, ...endpoint }, progress, ports, attempts);
  const run = loop.run();
  const add = (instanceId: string, type = CREATED) => {
    feed.rows.push([instanceId, 1, clock.wallMs(), [[type, 0, 0, 0, 0]]]);
    loop.wake();
  };
  const idsOf = () => sent.map(({ id }) => id.split('-')[1]);
  return { clock, feed, sent, saved, pauses, attempts, courier, loop, run, add, idsOf };
}

const delivery = suite('an endpoint');

delivery(
  'gets wanted events with the id of their position, and unwanted rows are passed',
  async () => {
    const scene = newScene();
    scene.add('inst_a');
    scene.add('inst_b', DELETED);
    scene.add('inst_c');
    await pass(scene.clock, 2_000);
    assert.equal(scene.idsOf(), ['0', '2']);
    const [first] = scene.sent;
    assert.is(first?.id, 'whk_0123456789abcdef-0');
    const body = JSON.parse(first?.body ?? '');
    assert.equal([body.type, body.data.length, body.data[0].instance_id], ['events', 1, 'inst_a']);
    assert.is(body.data[0].id, 'inst_a-1-0');
    assert.is(scene.saved.at(-1)?.cursor, 3);
  },
);

delivery('gets several events in a message if it wants', async () => {
  const scene = newScene(progressFrom(0), { rowsMax: 100 });
  for (const id of ['inst_a', 'inst_b', 'inst_c']) {
    scene.feed.rows.push([id, 1, 0, [[CREATED, 0, 0, 0, 0]]]);
  }
  scene.loop.wake();
  await pass(scene.clock, 100);
  assert.equal(scene.idsOf(), ['0']);
  assert.match(scene.sent[0]?.id ?? '', /^whk_0123456789abcdef-0-2-[0-9a-f]+$/);
  assert.is(JSON.parse(scene.sent[0]?.body ?? '').data.length, 3);
});

const failures = suite('an endpoint that fails');

failures('gets the message again with the same id and body', async () => {
  const scene = newScene();
  scene.courier.answer = async () => ({ kind: 'answered', status: 500, retryAfter: undefined });
  scene.add('inst_a');
  await pass(scene.clock, 1_000);
  scene.courier.answer = async () => OK;
  await pass(scene.clock, 5_000);
  assert.is(scene.sent.length, 2);
  const [first, second] = scene.sent;
  assert.equal([first?.id, first?.body], [second?.id, second?.body]);
  assert.equal(
    scene.attempts
      .newestFirst()
      .map(({ failure }) => failure)
      .reverse(),
    ['status 500', undefined],
  );
});

// An outage of all couriers must not use up the attempts of three days.
failures('is not charged for couriers that do not answer', async () => {
  const scene = newScene();
  scene.courier.answer = async () => COURIER_AWAY;
  for (const id of ['inst_a', 'inst_b']) scene.add(id);
  await pass(scene.clock, 4 * 24 * 3_600_000, 600_000);
  assert.equal(scene.pauses, []);
  const { held, failed, failingSinceMs } = scene.loop.progress;
  assert.equal([held, failed, failingSinceMs], [[], [], undefined]);
  const before = scene.sent.length;
  scene.courier.answer = async () => OK;
  await pass(scene.clock, 5_000);
  assert.equal(scene.idsOf().slice(before), ['0', '1']);
});

failures('is paused when it answers 410, and after three days', async () => {
  const removed = newScene();
  removed.courier.answer = async () => ({ kind: 'answered', status: 410, retryAfter: undefined });
  removed.add('inst_a');
  await pass(removed.clock, 100);
  await removed.run;
  assert.equal(removed.pauses, ['removed']);
  const failing = newScene();
  failing.courier.answer = async () => ({ kind: 'failed', failure: 'timeout' });
  failing.add('inst_a');
  await pass(failing.clock, 4 * 86_400_000, 600_000);
  await failing.run;
  assert.equal(failing.pauses, ['failing']);
});

failures('learns that events are missing after the feed has dropped them', async () => {
  const scene = newScene();
  for (let n = 0; n < 5; n += 1) scene.feed.rows.push([`inst_${n}`, 1, 0, [[CREATED, 0, 0, 0, 0]]]);
  scene.feed.floor = 3;
  scene.loop.wake();
  await pass(scene.clock, 100);
  assert.equal(scene.idsOf(), ['3', '4']);
  assert.equal(
    scene.sent.map(({ body }) => JSON.parse(body).follows_gap),
    [true, undefined],
  );
  scene.add('inst_z');
  await pass(scene.clock, 100);
  assert.is(JSON.parse(scene.sent.at(-1)?.body ?? '').follows_gap, undefined);
});

const changes = suite('a running endpoint');

changes(
  'goes on with changed settings, without a second attempt of what is under way',
  async () => {
    const scene = newScene();
    scene.add('inst_a');
    await pass(scene.clock, 100);
    scene.loop.update({ ...ENDPOINT, types: 1 << DELETED, rowsMax: 10 });
    scene.add('inst_b');
    for (const id of ['inst_c', 'inst_d']) scene.add(id, DELETED);
    await pass(scene.clock, 100);
    assert.equal(scene.idsOf(), ['0', '2']);
    assert.is(JSON.parse(scene.sent[1]?.body ?? '').data.length, 2);
  },
);

changes('has a redelivery in its durable progress before it is answered', async () => {
  const scene = newScene();
  scene.add('inst_a');
  await pass(scene.clock, 2_000);
  scene.courier.answer = () => new Promise(() => undefined);
  await scene.loop.repeat([{ seq: 0, instanceId: 'inst_a', events: 1 }]);
  const [held] = scene.saved.at(-1)?.held ?? [];
  assert.equal([held?.isAgain, held?.rows], [true, [[0, 1]]]);
});

changes('saves its progress when it ends, and ends after the attempts under way', async () => {
  const scene = newScene();
  let answer: (outcome: CourierOutcome) => void = () => undefined;
  scene.courier.answer = () =>
    new Promise((resolve) => {
      answer = resolve;
    });
  scene.add('inst_a');
  await pass(scene.clock, 100);
  let hasEnded = false;
  const ended = scene.loop.end().then(() => {
    hasEnded = true;
  });
  await pass(scene.clock, 100);
  assert.equal([hasEnded, scene.saved.at(-1)?.cursor], [false, 0]);
  answer(OK);
  await ended;
  assert.is(scene.saved.at(-1)?.cursor, 0, 'the outcome is ignored');
});

const restarts = suite('after a restart');

restarts('a held row is read from the feed again, or given up if the feed dropped it', async () => {
  const held = {
    ...{ instanceId: 'inst_a', attempts: 3, dueMs: 0, followsGap: false, isAgain: false },
    rows: [[0, 1] as const],
    together: 1,
  };
  const kept = newScene({ ...progressFrom(1), held: [held] });
  kept.add('inst_a');
  await pass(kept.clock, 100);
  assert.equal(kept.idsOf(), ['0']);
  const dropped = newScene({ ...progressFrom(1), held: [held] });
  dropped.feed.rows.push(['inst_a', 1, 0, [[CREATED, 0, 0, 0, 0]]]);
  dropped.feed.floor = 1;
  dropped.loop.wake();
  await pass(dropped.clock, 3_000);
  assert.equal(
    dropped.saved.at(-1)?.failed.map(({ seq, cause }) => [seq, cause]),
    [[0, 'expired']],
  );
});

restarts('waits while the feed is away', async () => {
  const scene = newScene();
  scene.feed.isAway = true;
  scene.add('inst_a');
  await pass(scene.clock, 3_000);
  scene.feed.isAway = false;
  await pass(scene.clock, 2_000);
  assert.equal(scene.idsOf(), ['0']);
});

restarts('begins no attempt after its end', async () => {
  const scene = newScene();
  await scene.loop.end();
  await scene.run;
  scene.add('inst_a');
  await pass(scene.clock, 1_000);
  assert.equal(scene.sent, []);
});

for (const group of [delivery, failures, changes, restarts]) group.run();
