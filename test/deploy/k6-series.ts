import { globSync, readFileSync } from 'node:fs';
import { TREND_STATISTICS } from '#loadtest/remote-write';

type Kind = 'counter' | 'gauge' | 'rate' | 'trend';

/** Built-in metrics of k6. Source: k6 1.8, metrics/builtin.go. */
const BUILT_IN: Readonly<Record<string, Kind>> = {
  vus: 'gauge',
  vus_max: 'gauge',
  iterations: 'counter',
  iteration_duration: 'trend',
  dropped_iterations: 'counter',
  http_reqs: 'counter',
  http_req_failed: 'rate',
  http_req_duration: 'trend',
  http_req_blocked: 'trend',
  http_req_connecting: 'trend',
  http_req_tls_handshaking: 'trend',
  http_req_sending: 'trend',
  http_req_waiting: 'trend',
  http_req_receiving: 'trend',
  data_sent: 'counter',
  data_received: 'counter',
};

/** Labels of k6's series: tags of k6, and tags of our calls. */
export const K6_LABELS: ReadonlySet<string> = new Set([
  ...['scenario', 'name', 'part', 'window', 'method', 'status', 'expected_response', 'error_code'],
]);

const DECLARED = /new (Counter|Gauge|Rate|Trend)\('(\w+)'/g;

/** Metrics that our scripts declare, found in their source text. */
export function declaredMetrics(): Record<string, Kind> {
  const text = globSync('loadtest/**/*.ts').map((file) => readFileSync(file, 'utf8'));
  const found = [...text.join('\n').matchAll(DECLARED)];
  return Object.fromEntries(
    found.map(([, kind = '', name = '']) => [name, kind.toLowerCase() as Kind]),
  );
}

/** Names of all series that a load test may write to Prometheus. */
export function k6Series(): ReadonlySet<string> {
  const metrics = Object.entries({ ...BUILT_IN, ...declaredMetrics() });
  return new Set(
    metrics.flatMap(([name, kind]) => suffixesOf(kind).map((end) => `k6_${name}${end}`)),
  );
}

/** Suffixes of metric names by kind. Source: k6 1.8, internal/output/prometheusrw/remotewrite. */
function suffixesOf(kind: Kind): string[] {
  switch (kind) {
    case 'counter':
      return ['_total'];
    case 'gauge':
      return [''];
    case 'rate':
      return ['_rate'];
    case 'trend':
      return TREND_STATISTICS.map((statistic) => `_${statistic.replace(/[().]/g, '')}`);
  }
}
