import { type Counter, collectDefaultMetrics, type Gauge, Registry } from 'prom-client';
import { EDGE_METRICS } from '#platform/edge-metric-definitions';
import type { Histogram } from '#platform/histogram';
import { type MetricDefinition, type MetricKind, makeMetric } from '#platform/make-metric';

/** Bounds of every duration histogram, in seconds. Source: operations, "buckets that fit us". */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** Ages of dirty actors, in seconds; 20 s is when they are due (architecture 3.2). */
const AGE_SECONDS = [0.1, 1, 5, 10, 20, 30, 60, 120];

/** Sizes of groups and frames, in messages. */
const MESSAGES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096];

/**
 * Every metric, once. Names and labels: operations, "Metrics". Labels hold route templates
 * and closed sets only, never an account, an instance or a key.
 */
export const METRICS = {
  nodejs_eventloop_utilization: {
    kind: 'gauge',
    help: 'Share of the time since the last scrape in which the event loop was busy, 0 to 1.',
    labels: [],
  },
  http_server_request_duration_seconds: {
    kind: 'histogram',
    help: 'Time from the first byte of a request to its answer.',
    labels: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: SECONDS,
  },
  http_server_active_requests: {
    kind: 'gauge',
    help: 'Requests whose body is complete and that are not answered.',
    labels: [],
  },
  rpc_server_call_duration_seconds: {
    kind: 'histogram',
    help: 'Time a call from another process took here.',
    labels: ['rpc_service', 'outcome'],
    buckets: SECONDS,
  },
  rpc_server_refused_total: {
    kind: 'counter',
    help: 'Calls from another process that its role may not make, by method and role.',
    labels: ['rpc_method', 'role'],
  },
  rpc_client_call_duration_seconds: {
    kind: 'histogram',
    help: 'Time a call to another process took, as seen by the caller.',
    labels: ['rpc_service', 'outcome'],
    buckets: SECONDS,
  },
  identity_cycles_total: {
    kind: 'counter',
    help: 'Observations applied, by result: kept or rolled_back.',
    labels: ['result'],
  },
  identity_throttled_total: {
    kind: 'counter',
    help: 'Observations that came within the minimum cycle interval.',
    labels: [],
  },
  identity_drift_events_total: {
    kind: 'counter',
    help: 'Cycles whose drift level was not D0.',
    labels: ['level'],
  },
  identity_advance_seconds: {
    kind: 'histogram',
    help: 'Time of one model step; one in 64 is timed.',
    labels: [],
    buckets: [0.000001, 0.0000025, 0.000005, 0.00001, 0.000025, 0.00005, 0.0001, 0.001],
  },
  identity_actors_active: {
    kind: 'gauge',
    help: 'Actors in memory, by kind.',
    labels: ['actor'],
  },
  identity_actor_bytes: {
    kind: 'gauge',
    help: 'Bytes held by actors in memory, estimated, by kind.',
    labels: ['actor'],
  },
  identity_activation_seconds: {
    kind: 'histogram',
    help: 'Time to activate an actor, by where its state came from.',
    labels: ['source'],
    buckets: SECONDS,
  },
  identity_mailbox_wait_seconds: {
    kind: 'histogram',
    help: 'Time a call waited for its turn; calls that found the actor idle are not counted.',
    labels: [],
    buckets: SECONDS,
  },
  journal_unflushed_records: {
    kind: 'gauge',
    help: 'Committed records that no checkpoint has stored.',
    labels: ['service', 'actor'],
  },
  checkpoint_dirty_age_seconds: {
    kind: 'histogram',
    help: 'How long an actor had been dirty when it was checkpointed.',
    labels: ['service'],
    buckets: AGE_SECONDS,
  },
  checkpoint_failures_total: {
    kind: 'counter',
    help: 'Checkpoint writes that failed and will be tried again.',
    labels: ['service'],
  },
  journal_append_seconds: {
    kind: 'histogram',
    help: 'Time until the journal held a group, further tries included.',
    labels: ['service'],
    buckets: SECONDS,
  },
  journal_group_records: {
    kind: 'histogram',
    help: 'Records of one group; 0 is the heartbeat of an idle node.',
    labels: ['service'],
    buckets: MESSAGES,
  },
  journal_fenced_total: {
    kind: 'counter',
    help: 'Incarnations of this process that ended because their journal was sealed or broken.',
    labels: ['service'],
  },
  shards_owned: {
    kind: 'gauge',
    help: 'Shards that this process serves.',
    labels: ['service'],
  },
  shard_moves_total: {
    kind: 'counter',
    help: 'Shards gained or given up, by reason: first, takeover, given or handed_off.',
    labels: ['service', 'reason'],
  },
  shard_seals_total: {
    kind: 'counter',
    help: 'Journals of other nodes that this process sealed, by reason: dead, stalled or unreachable.',
    labels: ['service', 'reason'],
  },
  recovered_records_total: {
    kind: 'counter',
    help: 'Records copied from the journals of other nodes into the own one.',
    labels: ['service'],
  },
  recovery_seconds: {
    kind: 'histogram',
    help: 'Time from asking for a dead node’s records to serving its shard.',
    labels: ['service'],
    buckets: SECONDS,
  },
  bus_connected: {
    kind: 'gauge',
    help: 'Whether NATS is connected: 1, or 0; always 1 where none is needed.',
    labels: [],
  },
  bus_dropped_total: {
    kind: 'counter',
    help: 'Messages received from NATS and dropped, by reason.',
    labels: ['reason'],
  },
  clock_ahead_seconds: {
    kind: 'gauge',
    help: 'How far the wall clock is ahead of the median of the other nodes; 0 with fewer than two.',
    labels: [],
  },
  clock_deviating: {
    kind: 'gauge',
    help: 'Whether the wall clock is more than 60 s from that of most others, and has not been corrected since: 1, or 0.',
    labels: [],
  },
  db_client_operation_duration_seconds: {
    kind: 'histogram',
    help: 'Time a statement took at the database.',
    labels: ['db_system_name', 'db_operation_name', 'error_type'],
    buckets: SECONDS,
  },
  limiter_checks_total: {
    kind: 'counter',
    help: 'Admissions decided: allow, rate, quota, key, unavailable.',
    labels: ['decision'],
  },
  limiter_check_duration_seconds: {
    kind: 'histogram',
    help: 'Time to an admission as the edge sees it.',
    labels: [],
    buckets: SECONDS,
  },
  limiter_frame_messages: {
    kind: 'histogram',
    help: 'Messages in one frame that the limiter received.',
    labels: [],
    buckets: MESSAGES,
  },
  limiter_reservations_expired_total: {
    kind: 'counter',
    help: 'Reservations that expired unsettled after 60 s; they count as used.',
    labels: [],
  },
  limiter_watermark_raise_seconds: {
    kind: 'histogram',
    help: 'Time until the journal held the record that raises a watermark.',
    labels: ['watermark', 'result'],
    buckets: SECONDS,
  },
  limiter_lost_cycles_total: {
    kind: 'counter',
    help: 'Cycles charged although no call reported them as used, by cause.',
    labels: ['cause'],
  },
  ...EDGE_METRICS,
} as const satisfies Record<string, MetricDefinition>;

/** The name of a metric of the catalog. */
export type MetricName = keyof typeof METRICS;

type LabelsOf<Name extends MetricName> = (typeof METRICS)[Name]['labels'][number];
type NamesOf<K extends MetricKind> = {
  [Name in MetricName]: (typeof METRICS)[Name] extends { kind: K } ? Name : never;
}[MetricName];

/** The counters, gauges and histograms of one process, by their names in the catalog. */
export type Metrics = {
  counter<Name extends NamesOf<'counter'>>(name: Name): Counter<LabelsOf<Name>>;
  gauge<Name extends NamesOf<'gauge'>>(name: Name): Gauge<LabelsOf<Name>>;
  histogram<Name extends NamesOf<'histogram'>>(name: Name): Histogram<LabelsOf<Name>>;
  /** Runs `refresh` before every scrape, for gauges whose truth is kept elsewhere. */
  beforeScrape(refresh: () => void): void;
  /** The text that a scrape gets, and its content type. */
  scrape(): Promise<{ contentType: string; text: string }>;
};

/** A registry of its own with every metric of the catalog and the process's standard ones. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const made = new Map<string, Counter | Gauge | Histogram<string>>();
  for (const [name, definition] of Object.entries<MetricDefinition>(METRICS)) {
    made.set(name, makeMetric(name, definition, registry));
  }
  const refreshers = [utilizationInto(made.get('nodejs_eventloop_utilization') as Gauge)];
  return {
    counter: (name) => made.get(name) as Counter<LabelsOf<typeof name>>,
    gauge: (name) => made.get(name) as Gauge<LabelsOf<typeof name>>,
    histogram: (name) => made.get(name) as Histogram<LabelsOf<typeof name>>,
    beforeScrape: (refresh) => void refreshers.push(refresh),
    scrape: async () => {
      for (const refresh of refreshers) refresh();
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

function utilizationInto(gauge: Gauge): () => void {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    gauge.set(performance.eventLoopUtilization(now, last).utilization);
    last = now;
  };
}
