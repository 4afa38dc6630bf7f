import fc from 'fast-check';
import { type Metric, Histogram as PromHistogram, Registry } from 'prom-client';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Histogram } from '#telemetry/make-metric';

const BOUNDS = [0.001, 0.01, 0.1, 1];
const NAME = 'call_seconds';

/** Values at, below, above and far away from bucket bounds. */
const aValue = fc.oneof(
  fc.constantFrom(...BOUNDS, 0, -1, 5),
  fc.double({ min: 0, max: 2, noNaN: true }),
);
const anOutcome = fc.constantFrom('ok', 'internal', 'a "quoted"\nlabel');

const counting = suite('a histogram with its own counters');

counting('is scraped like the library’s histogram for the same observations', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(anOutcome, aValue)), async (observations) => {
      const [ours, theirs] = [new Registry(), new Registry()];
      const histogram = new Histogram<'outcome'>(NAME, 'Time of a call.', BOUNDS);
      ours.registerMetric(histogram as unknown as Metric);
      const reference = new PromHistogram({
        name: NAME,
        help: 'Time of a call.',
        labelNames: ['outcome'],
        buckets: BOUNDS,
        registers: [theirs],
      });
      for (const [outcome, value] of observations) {
        histogram.labels({ outcome }).observe(value);
        reference.observe({ outcome }, value);
      }
      assert.is(await ours.metrics(), await theirs.metrics());
    }),
  );
});

counting('shows a series as soon as its labels are bound', async () => {
  const registry = new Registry();
  const histogram = new Histogram(NAME, 'Time of a call.', BOUNDS);
  registry.registerMetric(histogram as unknown as Metric);
  histogram.labels({});
  assert.match(await registry.metrics(), /^call_seconds_count 0$/m);
});

counting('rejects NaN and infinity without counting them', () => {
  const histogram = new Histogram(NAME, 'Time of a call.', BOUNDS);
  const series = histogram.labels({});
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => series.observe(value), /cannot count/);
  }
  assert.ok(histogram.get().values.every(({ value }) => value === 0));
});

counting.run();
