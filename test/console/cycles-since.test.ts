import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cyclesSince } from '#console/usage/instance-usage';

/** A history in memory, oldest first. Counts its reads. */
class History {
  times: number[];
  trimmed: number;
  reads = 0;
  /** Runs before each read. The first read has number 1. */
  readonly before: (read: number) => void;

  constructor(times: readonly number[], trimmed = 0, before: (read: number) => void = () => {}) {
    this.times = [...times];
    this.trimmed = trimmed;
    this.before = before;
  }

  readonly readAt = async (offset: number) => {
    this.reads += 1;
    this.before(this.reads);
    const index = this.times.length - 1 - offset;
    const timestampMs = this.times[index];
    if (timestampMs === undefined || index < this.trimmed) return undefined;
    return { cycle: index + 1, timestampMs, total: this.times.length - this.trimmed };
  };

  countSince(sinceMs: number): number {
    return this.times.filter((at, index) => index >= this.trimmed && at >= sinceMs).length;
  }
}

const MONTH = Date.UTC(2026, 1, 1);

/** Rising times around the beginning of a month. */
const times = fc
  .array(fc.integer({ min: 1_000, max: 100_000 }), { maxLength: 200 })
  .chain((steps) =>
    fc.integer({ min: -8_000_000, max: 1_000_000 }).map((startMs) => {
      let atMs = MONTH + startMs;
      return steps.map((step) => {
        atMs += step;
        return atMs;
      });
    }),
  );

const since = suite('counting the cycles of an instance since a time');

since('equals a scan of the whole history, with few reads', async () => {
  const property = fc.asyncProperty(times, fc.nat(50), async (all, trimmed) => {
    const history = new History(all, Math.min(trimmed, all.length));
    assert.is(await cyclesSince(MONTH, history.readAt), history.countSince(MONTH));
    assert.ok(history.reads <= 3 + Math.log2(all.length + 1), `${history.reads} reads`);
  });
  await fc.assert(property, { numRuns: 500 });
});

since('starts with the first millisecond of the month in UTC', async () => {
  const history = new History([MONTH - 2_000, MONTH - 1, MONTH + 999, MONTH + 2_000]);
  assert.is(await cyclesSince(MONTH, history.readAt), 2);
  assert.is(await cyclesSince(MONTH - 1, history.readAt), 3);
  assert.is(await cyclesSince(MONTH + 999, history.readAt), 2);
  assert.is(await cyclesSince(MONTH + 1_000, history.readAt), 1);
});

since('takes one read if no cycle is in the month, and two if all cycles are', async () => {
  const old = new History(Array.from({ length: 1_000 }, (_, index) => MONTH - 2_000_000 + index));
  assert.is(await cyclesSince(MONTH, old.readAt), 0);
  assert.is(old.reads, 1);
  const young = new History(Array.from({ length: 1_000 }, (_, index) => MONTH + index));
  assert.is(await cyclesSince(MONTH, young.readAt), 1_000);
  assert.is(young.reads, 2);
});

since('is correct while observations arrive', async () => {
  const coming = fc.array(fc.nat(40), { minLength: 1, maxLength: 20 });
  const property = fc.asyncProperty(times, coming, async (all, growth) => {
    fc.pre(all.length > 0);
    const history = new History(all, 0, (read) => {
      const last = history.times.at(-1) ?? MONTH;
      for (let more = 1; more <= (growth[read - 1] ?? 0); more += 1) {
        history.times.push(last + 1_000 * more);
      }
    });
    const least = history.countSince(MONTH);
    const found = await cyclesSince(MONTH, history.readAt);
    // The count may omit cycles that arrive during the search, but no earlier cycles.
    assert.ok(found >= least && found <= history.countSince(MONTH), `${least}, ${found}`);
    const hasNone = (history.times.at(-1) ?? 0) < MONTH;
    if (hasNone) assert.is(found, 0);
  });
  await fc.assert(property, { numRuns: 500 });
});

since('needs few reads although a thousand observations arrive between two reads', async () => {
  const all = Array.from({ length: 64 }, (_, index) => MONTH - 32_000 + 1_000 * index);
  const more = Array.from({ length: 1_000 }, (_, index) => MONTH + 100_000 + 1_000 * index);
  const history = new History(all, 0, (read) => {
    if (read === 2) history.times.push(...more);
  });
  assert.is(await cyclesSince(MONTH, history.readAt), 1_032);
  assert.ok(history.reads <= 12, `${history.reads} reads`);
});

since('counts the new generation if the instance is reset meanwhile', async () => {
  const all = Array.from({ length: 64 }, (_, index) => MONTH - 32_000 + 1_000 * index);
  const history = new History(all, 0, (read) => {
    if (read === 4) history.times = all.slice(0, 40).map((at) => at + 100_000);
  });
  assert.is(await cyclesSince(MONTH, history.readAt), 40);
});

since('returns 0 if the instance is reset faster than it can be read', async () => {
  const all = Array.from({ length: 64 }, (_, index) => MONTH - 32_000 + 1_000 * index);
  const history: History = new History(all, 0, (read) => {
    history.times = read % 2 === 0 ? [MONTH] : all;
  });
  assert.is(await cyclesSince(MONTH, history.readAt), 0);
  assert.ok(history.reads < 10, `${history.reads}`);
});

since.run();
