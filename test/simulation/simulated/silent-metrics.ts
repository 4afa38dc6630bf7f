import type { Metrics } from '#telemetry/metrics';

const nothing = (): void => undefined;
const instrument = { labels: () => instrument, inc: nothing, set: nothing, observe: nothing };

/** Metrics that count nothing, because the checks read no metrics. */
export const silentMetrics = {
  counter: () => instrument,
  gauge: () => instrument,
  histogram: () => instrument,
  beforeScrape: nothing,
  scrape: async () => ({ contentType: '', text: '' }),
} as unknown as Metrics;
