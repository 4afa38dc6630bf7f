import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createMetrics } from '#telemetry/metrics';

const utilization = suite('the utilization of the event loop');

utilization('covers at least five seconds, even if scrapes are more frequent', async () => {
  const metrics = createMetrics();
  const scraped = async (): Promise<number> => {
    const { text } = await metrics.scrape();
    return Number(/^nodejs_eventloop_utilization (\S+)$/m.exec(text)?.[1]);
  };
  assert.is(await scraped(), 0);
  await sleep(5_100);
  const value = await scraped();
  assert.ok(value > 0 && value < 0.5, `${value}`);
  const busyUntilMs = performance.now() + 50;
  while (performance.now() < busyUntilMs);
  assert.is(await scraped(), value);
});

utilization.run();
