import type { Alert } from '#deploy/observe/alert';

const DURATION = 'db_client_operation_duration_seconds';

/** Attempts to deliver webhooks a second, by outcome. */
const WEBHOOKS = (outcome: string) =>
  `sum(rate(webhook_attempts_total{outcome="${outcome}"}[10m]))`;

/** Alerts about faults between the service and Cassandra. */
export const STORE_ALERTS: readonly Alert[] = [
  {
    name: 'StoreFails',
    dashboard: 'stores',
    severity: 'page',
    expr: [
      `sum(rate(${DURATION}_count{error_type!=""}[1m]))`,
      `/ sum(rate(${DURATION}_count[1m])) > 0.05`,
    ].join(' '),
    forS: 30,
    summary: 'more than 5 % of statements to Cassandra fail',
    firing: {
      series: {
        [`${DURATION}_count{error_type=""}`]: '0+90x24',
        [`${DURATION}_count{error_type="timeout"}`]: '0+10x24',
      },
      atS: 300,
    },
    quiet: {
      series: {
        [`${DURATION}_count{error_type=""}`]: '0+98x24',
        [`${DURATION}_count{error_type="timeout"}`]: '0+2x24',
      },
      atS: 210,
    },
    // A fault of 45 s, which ends while its alert is pending.
    alsoQuiet: [
      {
        series: {
          [`${DURATION}_count{error_type=""}`]: '0+90x24',
          [`${DURATION}_count{error_type="timeout"}`]: '0x8 10+10x2 30x14',
        },
        atS: 180,
      },
    ],
  },
  {
    name: 'StoreSlow',
    dashboard: 'stores',
    severity: 'ticket',
    expr: 'histogram_quantile(0.5, sum by (service, le) (rate(journal_append_seconds_bucket[1m]))) > 0.1',
    forS: 30,
    summary: 'appends to journals of the {{ $labels.service }} take more than 100 ms (median)',
    firing: { series: appends(0.3), atS: 240, labels: { service: 'engine' } },
    quiet: { series: appends(0.7), atS: 210 },
  },
  {
    name: 'StoreServerSlow',
    dashboard: 'stores',
    severity: 'ticket',
    expr: [
      'sum(rate(db_client_second_server_total[5m]))',
      `/ sum(rate(${DURATION}_count[5m])) > 0.02`,
    ].join(' '),
    forS: 30,
    summary:
      'a Cassandra server is slow or fails: more than 2 % of statements go to a second server',
    firing: {
      series: {
        'db_client_second_server_total{reason="slow"}': '0+30x60',
        [`${DURATION}_count{error_type=""}`]: '0+1000x60',
      },
      atS: 720,
    },
    quiet: {
      series: {
        'db_client_second_server_total{reason="slow"}': '0+10x60',
        [`${DURATION}_count{error_type=""}`]: '0+1000x60',
      },
      atS: 720,
    },
  },
  {
    name: 'CheckpointsFail',
    dashboard: 'stores',
    severity: 'ticket',
    expr: 'sum by (service) (rate(checkpoint_failures_total[1m])) > 0',
    forS: 60,
    summary: 'checkpoints of the {{ $labels.service }} fail: the journal’s tail grows',
    firing: {
      series: { 'checkpoint_failures_total{service="engine"}': '0x4 1+1x24' },
      atS: 330,
      labels: { service: 'engine' },
    },
    quiet: { series: { 'checkpoint_failures_total{service="engine"}': '0x4 1x16' }, atS: 210 },
  },
  {
    name: 'UnflushedTailGrows',
    dashboard: 'stores',
    severity: 'page',
    // Half the bound is normal on a busy node, which then stores its oldest records first. Far
    // above half the bound, the store is too slow.
    expr: 'sum by (job, instance) (journal_unflushed_records) > 150000',
    forS: 30,
    summary:
      '{{ $labels.job }} {{ $labels.instance }} has over 150,000 records without a checkpoint; at 200,000, calls are refused',
    firing: {
      series: { 'journal_unflushed_records{job="engine",instance="b"}': '140000+2000x16' },
      atS: 210,
      labels: { job: 'engine', instance: 'b' },
    },
    quiet: {
      series: { 'journal_unflushed_records{job="engine",instance="b"}': '120000x16' },
      atS: 210,
    },
  },
  {
    name: 'TransitionsUnrecorded',
    dashboard: 'engine',
    severity: 'ticket',
    // A take-over may delay the log of an account for 15 s.
    expr: 'max by (job, instance) (transitions_unrecorded_seconds) > 15',
    forS: 60,
    summary:
      '{{ $labels.job }} {{ $labels.instance }} has changes that are not in the log of their account for over 15 s',
    firing: {
      series: { 'transitions_unrecorded_seconds{job="engine",instance="b"}': '0+5x40' },
      atS: 300,
      labels: { job: 'engine', instance: 'b' },
    },
    quiet: {
      series: { 'transitions_unrecorded_seconds{job="engine",instance="b"}': '14x40' },
      atS: 300,
    },
  },
  {
    name: 'IndexRepaired',
    dashboard: 'engine',
    severity: 'ticket',
    expr: 'sum by (reason) (increase(index_repairs_total[15m])) > 0',
    forS: 0,
    summary: 'an index differed from its instances and was repaired: {{ $labels.reason }}',
    firing: {
      series: { 'index_repairs_total{job="engine",instance="b",reason="damaged"}': '0x8 1x8' },
      atS: 210,
      labels: { reason: 'damaged' },
    },
    quiet: {
      series: { 'index_repairs_total{job="engine",instance="b",reason="damaged"}': '1x16' },
      atS: 210,
    },
  },
  {
    name: 'IndexUnreadable',
    dashboard: 'engine',
    severity: 'ticket',
    expr: 'sum by (job, instance) (index_unreadable_instances) > 0',
    // A deleted instance whose row has not left the listing yet is no damage.
    forS: 60,
    summary:
      '{{ $labels.job }} {{ $labels.instance }} cannot read some instances: lists with a filter leave them out',
    firing: {
      series: { 'index_unreadable_instances{job="engine",instance="b"}': '0x4 2x24' },
      atS: 300,
      labels: { job: 'engine', instance: 'b' },
    },
    quiet: {
      series: { 'index_unreadable_instances{job="engine",instance="b"}': '0x4 2x2 0x24' },
      atS: 300,
    },
  },
  {
    name: 'IndexBuildFails',
    dashboard: 'engine',
    severity: 'ticket',
    // A take-over fails some builds, and the next call builds again.
    expr: 'sum(increase(index_build_failures_total[5m])) > 0',
    forS: 600,
    summary: 'indexes cannot be built: calls with a filter get 503 index_rebuilding',
    firing: {
      series: { 'index_build_failures_total{job="engine",instance="b"}': '0x4 1+1x76' },
      atS: 1_200,
    },
    quiet: {
      series: { 'index_build_failures_total{job="engine",instance="b"}': '0x4 1+1x20 21x56' },
      atS: 1_200,
    },
  },
  {
    name: 'NoWebhookDelivered',
    dashboard: 'engine',
    severity: 'ticket',
    // Endpoints of customers fail often. All of them fail only if the service cannot send.
    expr: `${WEBHOOKS('failed')} > 0 and ${WEBHOOKS('delivered')} == 0`,
    forS: 900,
    summary: 'no webhook was delivered for 15 minutes, and attempts fail',
    firing: {
      series: {
        'webhook_attempts_total{job="engine",instance="b",outcome="failed"}': '0+15x160',
        'webhook_attempts_total{job="engine",instance="b",outcome="delivered"}': '70x160',
      },
      atS: 2_100,
      labels: {},
    },
    quiet: {
      series: {
        'webhook_attempts_total{job="engine",instance="b",outcome="failed"}': '0+15x160',
        'webhook_attempts_total{job="engine",instance="b",outcome="delivered"}': '0+1x160',
      },
      atS: 2_100,
    },
  },
];

/** Series of appends: share `quick` within 100 ms, all within 250 ms. */
function appends(quick: number): Record<string, string> {
  const series = (le: string) => `journal_append_seconds_bucket{service="engine",le="${le}"}`;
  return {
    [series('0.05')]: '0x20',
    [series('0.1')]: `0+${quick * 100}x20`,
    [series('0.25')]: '0+100x20',
    [series('+Inf')]: '0+100x20',
  };
}
