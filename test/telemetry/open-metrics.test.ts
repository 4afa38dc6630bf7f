import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createMetrics } from '#telemetry/metrics';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const sampled = `00-${TRACE_ID}-b7ad6b7169203331-01`;
const unsampled = `00-${TRACE_ID}-b7ad6b7169203331-00`;

/** Accept header of Prometheus 2.42. */
const ACCEPT =
  'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';

const scrape = suite('a scrape');

scrape('has exemplars of recorded traces only, in OpenMetrics', async () => {
  const metrics = createMetrics();
  const checks = metrics.histogram('limiter_check_duration_seconds').labels({});
  checks.observe(0.004, sampled);
  checks.observe(0.2, unsampled);
  checks.observe(0.3);
  const { contentType, text } = await metrics.scrape(ACCEPT);
  assert.match(contentType, /^application\/openmetrics-text; version=1\.0\.0/);
  assert.ok(text.endsWith('# EOF\n'));
  const examples = text.split('\n').filter((line) => line.includes(' # {'));
  assert.is(examples.length, 1);
  const shown = `limiter_check_duration_seconds_bucket{le="0.005"} 1 # {trace_id="${TRACE_ID}"} 0.004 `;
  assert.ok(examples[0]?.startsWith(shown), examples[0]);
});

scrape('has the time of an exemplar by the process’s clock', async () => {
  const metrics = createMetrics({ wallMs: () => 1_234_567 });
  metrics.histogram('limiter_check_duration_seconds').labels({}).observe(0.004, sampled);
  const { text } = await metrics.scrape(ACCEPT);
  assert.match(text, /trace_id="\w+"\} 0\.004 1234\.567$/m);
});

for (const [accept, isOpen] of [
  ['application/openmetrics-text', true],
  ['text/plain;q=0.5, Application/OpenMetrics-Text; version=1.0.0; Q=0.6', true],
  ['application/openmetrics-text;q=0.4,text/plain;q=0.5', false],
  ['application/openmetrics-text;q=0,*/*', false],
  ['application/openmetrics-text;q=x', false],
  ['application/openmetrics-text-like', false],
  ['*/*', false],
] as const) {
  scrape(`with Accept "${accept}" is ${isOpen ? '' : 'not '}in OpenMetrics`, async () => {
    const { contentType } = await createMetrics().scrape(accept);
    assert.is(contentType.startsWith('application/openmetrics-text'), isOpen);
  });
}

scrape(
  'is in Prometheus’ own format by default, before and after a scrape in OpenMetrics',
  async () => {
    const metrics = createMetrics();
    metrics.counter('identity_throttled_total').inc();
    metrics.histogram('limiter_check_duration_seconds').labels({}).observe(0.004, sampled);
    for (const _ of ['before', 'after']) {
      const { contentType, text } = await metrics.scrape();
      assert.match(contentType, /^text\/plain; version=0\.0\.4/);
      assert.match(text, /^# TYPE identity_throttled_total counter$/m);
      assert.match(text, /^identity_throttled_total 1$/m);
      assert.not.match(text, /trace_id|# EOF/);
      await metrics.scrape(ACCEPT);
    }
  },
);

scrape('has the same series in both formats', async () => {
  const metrics = createMetrics();
  metrics.counter('edge_fail_closed_total').inc({ reason: 'a "quoted"\nreason' });
  const seriesOf = async (accept?: string) => {
    const { text } = await metrics.scrape(accept);
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return lines.map((line) => line.slice(0, line.lastIndexOf(' '))).sort();
  };
  assert.equal(await seriesOf(ACCEPT), await seriesOf());
});

scrape('names a counter’s family without its suffix in OpenMetrics', async () => {
  const { text } = await createMetrics().scrape(ACCEPT);
  assert.match(text, /^# TYPE identity_throttled counter\n# HELP identity_throttled [^\n]+\n/m);
  assert.match(text, /^identity_throttled_total 0$/m);
});

scrape.run();
