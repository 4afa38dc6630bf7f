import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '#stdlib/clock';
import { statementObserver } from '#storage/cassandra/statements';
import { Dependency } from '#telemetry/dependency';
import { createMetrics } from '#telemetry/metrics';
import { SILENT } from '#test/support/test-logger';

/** Metric lines about answers of a second server. */
async function secondServers(metrics: ReturnType<typeof createMetrics>): Promise<string[]> {
  const { text } = await metrics.scrape();
  return text.split('\n').filter((line) => line.startsWith('db_client_second_server_total{'));
}

const observed = suite('when statements are observed');

observed(
  'answers of second servers are counted from 0, so that the first answer is an increase',
  async () => {
    const metrics = createMetrics();
    const observe = statementObserver(
      metrics,
      new Dependency({ name: 'Cassandra', address: '', clock: systemClock, logger: SILENT }),
    );
    const line = (reason: string, count: number) =>
      `db_client_second_server_total{db_operation_name="SELECT",reason="${reason}"} ${count}`;
    observe('SELECT', 0.01, undefined);
    assert.equal(await secondServers(metrics), [line('slow', 0), line('error', 0)]);
    observe('SELECT', 0.01, undefined, 'slow');
    observe('SELECT', 0.01, 'timeout');
    assert.equal(await secondServers(metrics), [line('slow', 1), line('error', 0)]);
  },
);

observed.run();
