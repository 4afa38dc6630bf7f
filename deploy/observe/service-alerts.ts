import type { Alert, AlertCase } from '#deploy/observe/alert';

/** Prometheus jobs of the service, one per role. */
const JOBS = 'edge|engine|limiter|console';

/** Alerts about processes, and about faults that callers notice immediately. */
export const SERVICE_ALERTS: readonly Alert[] = [
  {
    name: 'FailsClosed',
    dashboard: 'limiter',
    severity: 'page',
    // The share excludes the few failures that always occur under high load. The minimum excludes a
    // few failures under low load.
    expr: [
      'sum(rate(edge_fail_closed_total[1m]))',
      '> 0.01 * sum(rate(http_server_request_duration_seconds_count{http_route!="refused"}[1m]))',
      'and sum(increase(edge_fail_closed_total[1m])) > 5',
    ].join(' '),
    forS: 30,
    summary: 'edges refused more than 1 % of calls in the last minute because no limiter answered',
    firing: failsClosed('0+1500x20', '0x8 1+20x12'),
    quiet: failsClosed('0+1500x20', '0x8 1+20x2 41x12'),
    alsoQuiet: [
      // A failure every 45 s at 100 calls per second; 12 failures in a minute; a failure among few
      // calls at night.
      failsClosed('0+1500x20', '0x5 1x2 2x2 3x2 4x2 5x2 6x2 7x5'),
      failsClosed('0+1500x20', '0+3x20'),
      failsClosed('0+1x20', '0x9 1x2 2x2 3x8'),
    ],
  },
  {
    name: 'NoEdge',
    severity: 'page',
    expr: 'absent(up{job="edge"} == 1)',
    forS: 30,
    summary: 'no edge answers on its metrics port: the API is probably down',
    firing: {
      series: { 'up{job="edge",instance="a"}': '1x4 0x6', 'up{job="engine",instance="b"}': '1x10' },
      atS: 150,
    },
    quiet: {
      series: { 'up{job="edge",instance="a"}': '0x10', 'up{job="edge",instance="b"}': '1x10' },
      atS: 150,
    },
  },
  {
    name: 'ProcessDown',
    severity: 'ticket',
    expr: `up{job=~"${JOBS}"} == 0`,
    forS: 30,
    summary: '{{ $labels.job }} {{ $labels.instance }} does not answer on its metrics port',
    firing: {
      series: { 'up{job="engine",instance="b"}': '1x4 0x6' },
      atS: 150,
      labels: { job: 'engine', instance: 'b' },
    },
    quiet: { series: { 'up{job="engine",instance="b"}': '1x4 0x1 1x6' }, atS: 150 },
  },
  {
    name: 'ProcessRestarts',
    severity: 'ticket',
    expr: `changes(process_start_time_seconds{job=~"${JOBS}"}[15m]) >= 2`,
    forS: 0,
    summary: '{{ $labels.job }} {{ $labels.instance }} restarted twice within 15 minutes',
    firing: {
      series: { 'process_start_time_seconds{job="engine",instance="b"}': '100x8 200x8 300x8' },
      atS: 330,
      labels: { job: 'engine', instance: 'b' },
    },
    quiet: {
      series: { 'process_start_time_seconds{job="engine",instance="b"}': '100x8 200x16' },
      atS: 330,
    },
  },
  {
    name: 'LogLinesLost',
    severity: 'ticket',
    expr: 'sum by (job, instance) (increase(log_lines_lost_total[5m])) > 0',
    forS: 0,
    summary:
      '{{ $labels.job }} {{ $labels.instance }} cannot write log lines: a full disk or a closed pipe',
    firing: {
      series: { 'log_lines_lost_total{job="edge",instance="a"}': '0x4 3x16' },
      atS: 180,
      labels: { job: 'edge', instance: 'a' },
    },
    quiet: {
      series: { 'log_lines_lost_total{job="edge",instance="a"}': '3x20' },
      atS: 180,
    },
  },
  {
    name: 'EventLoopBusy',
    severity: 'ticket',
    expr: `avg_over_time(nodejs_eventloop_utilization{job=~"${JOBS}"}[1m]) > 0.85`,
    forS: 30,
    summary: '{{ $labels.job }} {{ $labels.instance }} uses more than 85 % of its CPU core',
    firing: {
      series: { 'nodejs_eventloop_utilization{job="edge",instance="a"}': '0.2x4 0.95x20' },
      atS: 300,
      labels: { job: 'edge', instance: 'a' },
    },
    quiet: {
      series: { 'nodejs_eventloop_utilization{job="edge",instance="a"}': '0.2x4 0.95x2 0.5x8' },
      atS: 210,
    },
  },
  {
    name: 'MailboxWaits',
    dashboard: 'engine',
    severity: 'ticket',
    expr: [
      'histogram_quantile(0.99, sum by (job, le) (rate(identity_mailbox_wait_seconds_bucket[1m]))) > 0.25',
      'and sum by (job) (rate(identity_mailbox_wait_seconds_count[1m])) > 1',
    ].join(' '),
    forS: 30,
    summary: 'calls to {{ $labels.job }}s wait more than 250 ms for their turn (p99)',
    firing: { series: waits(0.97), atS: 240, labels: { job: 'engine' } },
    quiet: { series: waits(0.995), atS: 210 },
  },
  {
    name: 'CyclesLostInCrash',
    dashboard: 'limiter',
    severity: 'ticket',
    expr: 'sum(increase(limiter_heavy_losses_total[15m])) > 0',
    forS: 0,
    summary: 'a limiter crash cost accounts more than 0.1 % of their monthly quota',
    firing: { series: { limiter_heavy_losses_total: '0x8 2x8' }, atS: 210 },
    quiet: { series: { limiter_heavy_losses_total: '2x16' }, atS: 210 },
  },
  {
    name: 'ReplayMismatch',
    severity: 'ticket',
    expr: 'sum(increase(identity_replays_total{result="mismatch"}[15m])) > 0',
    forS: 0,
    summary: 'a replay of past states did not reach the next stored state bit for bit',
    firing: {
      series: { 'identity_replays_total{result="mismatch"}': '0x8 2x8' },
      atS: 210,
    },
    quiet: {
      series: {
        'identity_replays_total{result="mismatch"}': '2x16',
        'identity_replays_total{result="proven"}': '0+9x16',
      },
      atS: 210,
    },
  },
];

/** Test case with these series of calls and of calls that failed closed. */
function failsClosed(calls: string, failed: string): AlertCase {
  return {
    series: {
      'http_server_request_duration_seconds_count{http_route="/instances/:id"}': calls,
      'edge_fail_closed_total{reason="limiter_unavailable"}': failed,
    },
    atS: 270,
  };
}

/** Series of waiting calls: share `quick` waits at most 250 ms, all calls wait at most a second. */
function waits(quick: number): Record<string, string> {
  const name = 'identity_mailbox_wait_seconds';
  const perStep = 1_000;
  const values = (count: number) => `0+${count}x20`;
  return {
    [`${name}_bucket{job="engine",le="0.1"}`]: values(0),
    [`${name}_bucket{job="engine",le="0.25"}`]: values(quick * perStep),
    [`${name}_bucket{job="engine",le="1"}`]: values(perStep),
    [`${name}_bucket{job="engine",le="+Inf"}`]: values(perStep),
    [`${name}_count{job="engine"}`]: values(perStep),
  };
}
