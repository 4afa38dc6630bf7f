import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Batch,
  Deliveries,
  FAILING_MS_MAX,
  HELD_ROWS_MAX,
  IN_FLIGHT_MAX,
  STREAK_MAX,
} from '#engine/webhooks/deliveries';
import { SeededRandom } from '#test/simulation/seeded-random';
import { progressFrom, type WantedRow } from '#webhooks/endpoint';
import { ATTEMPTS_MAX } from '#webhooks/retry-schedule';

const START = progressFrom(0);
const DELIVERED = { isDelivered: true } as const;
const REFUSED = { isDelivered: false, cause: 'status 500', askedS: 0 } as const;
const MIDDLE = () => 0.5;

/** Hundred instances with one row each. */
const MANY = Array.from({ length: 100 }, (_, n) => String.fromCodePoint(0x4e00 + n)).join('');

/**
 * Deliveries to an endpoint with enough successes for `IN_FLIGHT_MAX`, with rows of these
 * instances, one row for each letter.
 */
function deliveriesOf(instances: string, rowsMax = 1, progress = START): Deliveries {
  const deliveries = new Deliveries(progress, rowsMax, MIDDLE);
  for (let width = 1; progress === START && width < IN_FLIGHT_MAX; width *= 2) {
    deliveries.repeat({ seq: 1_000_000, instanceId: 'z', events: 1 });
    deliveries.end(taken(deliveries.next(0)), DELIVERED, 0);
  }
  deliveries.takeEnded();
  for (const [seq, instanceId] of [...instances].entries()) {
    if (seq >= deliveries.taken) deliveries.take({ seq, instanceId, events: 1 }, 0);
  }
  return deliveries;
}

function taken(batch: Batch | undefined): Batch {
  if (batch === undefined) throw new Error('nothing is ready');
  return batch;
}

const seqsOf = (batch: Batch | undefined) => batch?.rows.map(({ seq }) => seq);

const order = suite('the rows of an instance');

order('are sent one after another, and rows of other instances meanwhile', () => {
  const deliveries = deliveriesOf('aab');
  const [first, second] = [taken(deliveries.next(0)), taken(deliveries.next(0))];
  assert.equal([seqsOf(first), seqsOf(second), deliveries.next(0)], [[0], [2], undefined]);
  deliveries.end(first, DELIVERED, 0);
  assert.equal(seqsOf(deliveries.next(0)), [1]);
});

order('wait for a row that fails, and other instances go on', () => {
  const deliveries = deliveriesOf('abab');
  deliveries.end(taken(deliveries.next(0)), REFUSED, 0);
  for (const seq of [1, 3]) {
    const batch = taken(deliveries.next(0));
    assert.equal(seqsOf(batch), [seq]);
    deliveries.end(batch, DELIVERED, 0);
  }
  assert.is(deliveries.next(4_000), undefined);
  assert.is(deliveries.dueMs, 5_000);
  assert.equal(seqsOf(deliveries.next(5_000)), [0]);
  assert.is(deliveries.progress.cursor, 4);
  assert.equal(deliveries.progress.held[0]?.rows, [
    [0, 1],
    [2, 1],
  ]);
});

order('go on after the last attempt, with a mark, and the row is listed', () => {
  const deliveries = deliveriesOf('aa');
  for (let nowMs = 0, attempts = 0; attempts < ATTEMPTS_MAX; nowMs = deliveries.dueMs) {
    deliveries.end(taken(deliveries.next(nowMs)), REFUSED, nowMs);
    attempts += 1;
  }
  const { failed } = deliveries.progress;
  assert.equal(
    failed.map(({ seq, cause }) => [seq, cause]),
    [[0, 'status 500']],
  );
  const next = taken(deliveries.next(deliveries.dueMs));
  assert.equal([seqsOf(next), next.followsGap], [[1], true]);
  deliveries.end(next, DELIVERED, 0);
  deliveries.take({ seq: 2, instanceId: 'a', events: 1 }, 0);
  assert.is(deliveries.next(0)?.followsGap, false);
  for (let asked = 0; asked < 2; asked += 1)
    deliveries.repeat({ seq: 0, instanceId: 'a', events: 1 });
  assert.equal(seqsOf(deliveries.next(0)), [0]);
});

const batches = suite('a message with several rows');

batches('has the oldest rows of all instances, in order', () => {
  const deliveries = deliveriesOf('abacab', 4);
  const batch = taken(deliveries.next(0));
  assert.equal(seqsOf(batch), [0, 1, 2, 4]);
});

batches('is divided by instance if it fails', () => {
  const deliveries = deliveriesOf('aba', 3);
  deliveries.end(taken(deliveries.next(0)), REFUSED, 0);
  const [first, second] = [taken(deliveries.next(9_000)), taken(deliveries.next(9_000))];
  assert.equal([seqsOf(first), seqsOf(second)], [[0, 2], [1]]);
});

const rate = suite('an endpoint that fails');

rate('gets one message at a time at the start, and more after each success', () => {
  const deliveries = new Deliveries(START, 1, MIDDLE);
  for (const seq of [0, 1, 2]) deliveries.take({ seq, instanceId: `${seq}`, events: 1 }, 0);
  const first = taken(deliveries.next(0));
  assert.is(deliveries.next(0), undefined);
  deliveries.end(first, DELIVERED, 0);
  assert.equal([seqsOf(deliveries.next(0)), seqsOf(deliveries.next(0))], [[1], [2]]);
});

rate('gets one message at a time after failures in a row, and more after each success', () => {
  const deliveries = deliveriesOf(MANY);
  const underWay = Array.from({ length: IN_FLIGHT_MAX }, () => taken(deliveries.next(0)));
  assert.is(deliveries.next(0), undefined);
  for (const batch of underWay) deliveries.end(batch, REFUSED, 0);
  assert.is(deliveries.next(0), undefined, 'it gets a pause');
  const nowMs = deliveries.dueMs;
  assert.ok(nowMs > 0 && Number.isFinite(nowMs));
  const probe = taken(deliveries.next(nowMs));
  assert.is(deliveries.next(nowMs), undefined);
  deliveries.end(probe, DELIVERED, nowMs);
  const two = [deliveries.next(nowMs), deliveries.next(nowMs), deliveries.next(nowMs)];
  assert.is(two.filter(Boolean).length, 2);
});

// A short outage would otherwise delay an endpoint with many messages under way by ten minutes.
rate('gets a longer pause only after a message that began after the pause', () => {
  const deliveries = deliveriesOf(MANY);
  const underWay = Array.from({ length: IN_FLIGHT_MAX }, () => taken(deliveries.next(0)));
  const older = underWay.splice(-1);
  for (const batch of underWay) deliveries.end(batch, REFUSED, 0);
  for (const batch of older) deliveries.end(batch, REFUSED, 5_000);
  const probe = taken(deliveries.next(5_000));
  deliveries.end(probe, REFUSED, 5_000);
  assert.is(deliveries.next(34_999), undefined);
  assert.ok(deliveries.next(35_000));
});

rate('gets the pause that it asks for', () => {
  const deliveries = deliveriesOf('ab');
  deliveries.end(taken(deliveries.next(0)), { ...REFUSED, askedS: 60 }, 0);
  assert.is(deliveries.next(59_000), undefined);
  assert.ok(deliveries.next(60_000));
});

rate('takes no more rows when too many wait, and is given up after three days', () => {
  const deliveries = deliveriesOf('');
  let seq = 0;
  let nowMs = 0;
  for (; deliveries.hasRoom; seq += 1) {
    deliveries.take({ seq, instanceId: `i${seq}`, events: 1 }, 0);
    const batch = deliveries.next(nowMs);
    if (batch !== undefined) deliveries.end(batch, REFUSED, nowMs);
    nowMs += 60_000;
  }
  assert.ok(seq > STREAK_MAX && seq <= HELD_ROWS_MAX + 1_024);
  assert.not(deliveries.isGivenUp(FAILING_MS_MAX));
  assert.ok(deliveries.isGivenUp(FAILING_MS_MAX + 1));
});

// A receiver that refuses one instance would otherwise stop all instances of the account.
rate('goes on for other instances while one instance fails for days', () => {
  const deliveries = deliveriesOf('');
  let delivered = 0;
  for (let seq = 0; seq < 4_000; seq += 1) {
    assert.ok(deliveries.hasRoom, `no room at ${seq}`);
    const nowMs = seq * 60_000;
    deliveries.take({ seq, instanceId: seq % 2 === 0 ? 'bad' : 'good', events: 1 }, nowMs);
    for (let batch = deliveries.next(nowMs); batch !== undefined; batch = deliveries.next(nowMs)) {
      const isGood = batch.rows[0]?.instanceId === 'good';
      deliveries.end(batch, isGood ? DELIVERED : REFUSED, nowMs);
      if (isGood) delivered += 1;
    }
  }
  assert.is(delivered, 2_000);
  assert.not(deliveries.isGivenUp(4_000 * 60_000));
  assert.ok(deliveries.progress.failed.length > 0);
});

batches('has at most a thousand events, except in a single row', () => {
  const deliveries = deliveriesOf('', 100);
  for (const [seq, events] of [600, 300, 200, 1_500, 1].entries()) {
    deliveries.take({ seq, instanceId: `i${seq}`, events }, 0);
  }
  const sent = Array.from({ length: 4 }, () => seqsOf(deliveries.next(0)));
  assert.equal(sent, [[0, 1], [2], [3], [4]]);
});

batches('repeats the rows that were attempted together, with the same rows', () => {
  const deliveries = deliveriesOf('aa', 10);
  deliveries.end(taken(deliveries.next(0)), REFUSED, 0);
  deliveries.take({ seq: 2, instanceId: 'a', events: 1 }, 0);
  const restarted = new Deliveries(deliveries.progress, 10, MIDDLE);
  for (const each of [deliveries, restarted]) assert.equal(seqsOf(each.next(9_000)), [0, 1]);
});

batches('gives up only rows that are no longer kept', () => {
  const deliveries = deliveriesOf('aab', 10);
  const batch = taken(deliveries.next(0));
  deliveries.expire(batch, 1, 0);
  assert.equal(
    deliveries.progress.failed.map(({ seq }) => seq),
    [0],
  );
  assert.equal(seqsOf(deliveries.next(0)), [1, 2]);
});

rate('is not probed later than after ten minutes', () => {
  const deliveries = deliveriesOf('a');
  let nowMs = 0;
  for (let failures = 0; failures < 11; failures += 1) {
    deliveries.take({ seq: failures + 1, instanceId: `i${failures}`, events: 1 }, nowMs);
    deliveries.end(taken(deliveries.next(nowMs)), REFUSED, nowMs);
    nowMs = Math.max(nowMs, deliveries.dueMs);
  }
  deliveries.take({ seq: 12, instanceId: 'fresh', events: 1 }, nowMs);
  assert.ok(deliveries.next(nowMs + 11 * 60_000));
});

const crashes = suite('after random failures and crashes');

for (const rowsMax of [1, 7]) {
  crashes(`no row is lost, and each instance is in order (${rowsMax} rows a message)`, () => {
    for (let seed = 1; seed <= 60; seed += 1) checkLife(new SeededRandom(seed), rowsMax);
  });
}

/** Delivers random rows with failures and crashes. Throws if a row is lost or out of order. */
function checkLife(random: SeededRandom, rowsMax: number): void {
  const life = new Life(random, rowsMax);
  for (let step = 0; step < 20_000 && !life.isOver; step += 1) life.step(step);
  life.check();
}

/** Deliveries of 120 rows to an endpoint that refuses one row for ever, and others at random. */
class Life {
  readonly #random: SeededRandom;
  readonly #rowsMax: number;
  readonly #rows: readonly WantedRow[];
  readonly #bad: number;
  /** Step of the first delivery, by position. */
  readonly #first = new Map<number, number>();
  #saved = START;
  #deliveries: Deliveries;
  #underWay: Batch[] = [];
  #nowMs = 0;

  constructor(random: SeededRandom, rowsMax: number) {
    this.#random = random;
    this.#rowsMax = rowsMax;
    this.#rows = Array.from({ length: 120 }, (_, seq) => ({
      seq,
      instanceId: `i${random.whole(0, 9)}`,
      events: 1,
    }));
    this.#bad = random.pick(this.#rows).seq;
    this.#deliveries = this.#started();
  }

  get isOver(): boolean {
    const { cursor, held } = this.#deliveries.progress;
    return cursor === this.#rows.length && held.length === 0 && this.#underWay.length === 0;
  }

  step(step: number): void {
    const random = this.#random;
    const row = this.#rows[this.#deliveries.taken];
    if (row !== undefined && this.#deliveries.hasRoom && random.happens(0.7)) {
      this.#deliveries.take(row, this.#nowMs);
    }
    const hasBegun = this.#begin();
    if (this.#underWay.length > 0 && random.happens(0.6)) this.#end(step);
    const { progress, dueMs } = this.#deliveries;
    assert.ok(progress.cursor >= this.#saved.cursor, 'the cursor moves back');
    if (random.happens(0.1)) this.#saved = progress;
    if (random.happens(0.005)) {
      this.#deliveries = this.#started();
      this.#underWay = [];
    }
    if (this.#underWay.length > 0 || hasBegun) return;
    this.#nowMs = Math.max(this.#nowMs, Number.isFinite(dueMs) ? dueMs : this.#nowMs);
  }

  /** Checks that no row is lost, and that each instance was delivered in order. */
  check(): void {
    const given = new Set(this.#deliveries.progress.failed.map(({ seq }) => seq));
    const last = new Map<string, number>();
    for (const { seq, instanceId } of this.#rows) {
      const step = this.#first.get(seq);
      assert.ok(step !== undefined || given.has(seq), `row ${seq} is lost`);
      if (step === undefined) continue;
      assert.ok(step >= (last.get(instanceId) ?? -1), `row ${seq} is out of order`);
      last.set(instanceId, step);
    }
  }

  #started(): Deliveries {
    return new Deliveries(this.#saved, this.#rowsMax, () => this.#random.unit());
  }

  /** Begins an attempt, if one is allowed. No instance may be in two attempts. */
  #begin(): boolean {
    const batch = this.#deliveries.next(this.#nowMs);
    if (batch === undefined) return false;
    const rows = this.#underWay.flatMap((other) => other.rows);
    const busy = new Set(rows.map(({ instanceId }) => instanceId));
    for (const { instanceId } of batch.rows) assert.not(busy.has(instanceId));
    this.#underWay.push(batch);
    return true;
  }

  /** Ends a random attempt. */
  #end(step: number): void {
    const random = this.#random;
    const [ended] = this.#underWay.splice(random.whole(0, this.#underWay.length - 1), 1);
    if (ended === undefined) return;
    const isBad = ended.rows.some(({ seq }) => seq === this.#bad) || random.happens(0.2);
    for (const { seq } of isBad ? [] : ended.rows) {
      if (!this.#first.has(seq)) this.#first.set(seq, step);
    }
    this.#deliveries.end(ended, isBad ? REFUSED : DELIVERED, this.#nowMs);
  }
}

for (const group of [order, batches, rate, crashes]) group.run();
