import type { Alert } from '#deploy/observe/alert';

/** Alerts about faults between the nodes of the cluster. */
export const CLUSTER_ALERTS: readonly Alert[] = [
  {
    name: 'ShardWithoutOwner',
    dashboard: 'engine',
    severity: 'page',
    // Edges report the number of shards even if no node of the service runs.
    expr: [
      '(sum by (service) (shards_owned) or 0 * max by (service) (cluster_shards))',
      '< max by (service) (cluster_shards)',
    ].join(' '),
    forS: 30,
    summary: 'some shards of the {{ $labels.service }} have no owner: calls to their actors fail',
    firing: {
      series: {
        'cluster_shards{service="engine",instance="edge1"}': '64x12',
        'shards_owned{service="engine",instance="engine1"}': '32x12',
        'shards_owned{service="engine",instance="engine2"}': '32x4 stale',
      },
      atS: 150,
      labels: { service: 'engine' },
    },
    quiet: {
      series: {
        'cluster_shards{service="engine",instance="edge1"}': '64x12',
        'shards_owned{service="engine",instance="engine1"}': '32x5 64x7',
        'shards_owned{service="engine",instance="engine2"}': '32x4 stale',
      },
      atS: 150,
    },
  },
  {
    name: 'JournalFenced',
    dashboard: 'engine',
    severity: 'ticket',
    expr: 'sum by (service) (increase(journal_fenced_total[15m])) > 0',
    forS: 0,
    summary: 'a node of the {{ $labels.service }} was fenced: its journal was sealed or broken',
    firing: {
      series: { 'journal_fenced_total{service="engine",instance="b"}': '0x8 1x8' },
      atS: 210,
      labels: { service: 'engine' },
    },
    quiet: { series: { 'journal_fenced_total{service="engine",instance="b"}': '1x16' }, atS: 210 },
  },
  {
    name: 'BusDisconnected',
    dashboard: 'stores',
    severity: 'page',
    // A single alert for all processes, because a failed server disconnects every process.
    expr: 'count(bus_connected == 0) > 0',
    forS: 30,
    summary: 'processes have no connection to NATS: no process can start',
    firing: {
      series: {
        'bus_connected{job="engine",instance="a"}': '1x4 0x8',
        'bus_connected{job="engine",instance="b"}': '1x4 0x8',
        'bus_connected{job="limiter",instance="c"}': '1x4 0x8',
      },
      atS: 165,
    },
    quiet: { series: { 'bus_connected{job="engine",instance="b"}': '1x4 0x1 1x8' }, atS: 165 },
  },
  {
    name: 'ForgedMessages',
    severity: 'ticket',
    expr: 'sum by (reason) (increase(bus_dropped_total{reason=~"unsigned|version|signature|forged|cluster"}[5m])) > 0',
    forS: 0,
    summary: 'processes drop NATS messages that fail verification: {{ $labels.reason }}',
    firing: {
      series: { 'bus_dropped_total{reason="unsigned",instance="a"}': '0x8 3x8' },
      atS: 210,
      labels: { reason: 'unsigned' },
    },
    quiet: {
      series: {
        'bus_dropped_total{reason="unsigned",instance="a"}': '3x16',
        'bus_dropped_total{reason="stale",instance="a"}': '0x8 3x8',
      },
      atS: 210,
    },
  },
  {
    name: 'ClockDeviates',
    severity: 'page',
    expr: 'clock_deviating == 1',
    forS: 30,
    summary: 'the clock of {{ $labels.job }} {{ $labels.instance }} deviates by more than a minute',
    firing: {
      series: { 'clock_deviating{job="limiter",instance="l"}': '0x4 1x8' },
      atS: 165,
      labels: { job: 'limiter', instance: 'l' },
    },
    quiet: { series: { 'clock_deviating{job="limiter",instance="l"}': '0x12' }, atS: 165 },
  },
];
