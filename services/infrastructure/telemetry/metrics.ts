import { type Counter, collectDefaultMetrics, type Gauge, Registry } from 'prom-client';
import { systemClock } from '#stdlib/clock';
import {
  acceptsOpenMetrics,
  counter,
  gauge,
  type Histogram,
  histogram,
  type MetricDefinition,
  type MetricKind,
  makeMetric,
  OPEN_METRICS_TYPE,
  openMetricsText,
  type WallClock,
} from '#telemetry/make-metric';

/** Bucket bounds for durations, in seconds. Source: operations, "buckets that fit us". */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/**
 * Bucket bounds for the age of dirty actors, in seconds. A checkpoint is due at 10 s or 120 s
 * (decision 200).
 */
const AGE_SECONDS = [0.1, 1, 5, 10, 20, 30, 60, 120, 240];

/** Bucket bounds for one model step, in seconds. */
const STEP_SECONDS = [0.000001, 0.0000025, 0.000005, 0.00001, 0.000025, 0.00005, 0.0001, 0.001];

/** Bucket bounds for groups and frames, in messages. */
const MESSAGES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096];

/**
 * Catalog of all metrics. Names and labels: operations, "Metrics". Labels contain only route
 * templates and closed sets, never an account, an instance or a key.
 */
export const METRICS = {
  identity_engine_build_info: gauge(
    'Release and role of the process; the value is always 1.',
    'version',
    'role',
  ),
  nodejs_eventloop_utilization: gauge(
    'Busy share of the event loop, 0 to 1, over the scrape interval (at least 5 s).',
  ),
  http_server_request_duration_seconds: seconds(
    'Time from the first byte of a request to its answer.',
    'http_request_method',
    'http_route',
    'http_response_status_code',
  ),
  http_server_active_requests: gauge('Requests with a complete body and without an answer.'),
  rpc_server_call_duration_seconds: seconds(
    'Duration of a call from another process, at the callee.',
    'rpc_service',
    'outcome',
  ),
  rpc_server_refused_total: counter(
    'Calls refused because the role of the calling process may not make them, by method and role.',
    'rpc_method',
    'role',
  ),
  rpc_client_call_duration_seconds: seconds(
    'Duration of a call to another process, at the caller.',
    'rpc_service',
    'outcome',
  ),
  identity_cycles_total: counter('Observations applied, by result: kept or rolled_back.', 'result'),
  identity_throttled_total: counter('Observations that came within the minimum cycle interval.'),
  identity_replays_total: counter('Replays of past states, by result.', 'result'),
  identity_drift_events_total: counter('Cycles whose drift level was not D0.', 'level'),
  identity_advance_seconds: histogram(STEP_SECONDS, 'Time of one model step; one in 64 is timed.'),
  identity_actors_active: gauge('Actors in memory, by kind.', 'actor'),
  identity_actor_bytes: gauge('Bytes held by actors in memory, estimated, by kind.', 'actor'),
  identity_activation_seconds: seconds(
    'Time to activate an actor, by the source of its state.',
    'source',
  ),
  identity_mailbox_wait_seconds: seconds(
    'Time a call waited for its turn; calls that found the actor idle are not counted.',
  ),
  journal_unflushed_records: gauge(
    'Committed records that no checkpoint has stored.',
    'service',
    'actor',
  ),
  checkpoint_dirty_age_seconds: histogram(
    AGE_SECONDS,
    'Age of the oldest unstored change of an actor at its checkpoint.',
    'service',
  ),
  checkpoint_failures_total: counter(
    'Checkpoint writes that failed and will be retried.',
    'service',
  ),
  journal_append_seconds: seconds(
    'Time until the journal held a group, including retries.',
    'service',
  ),
  journal_group_records: histogram(
    MESSAGES,
    'Records of one group; 0 is the heartbeat of an idle node.',
    'service',
  ),
  journal_fenced_total: counter(
    'Incarnations of this process that ended because their journal was sealed or broken.',
    'service',
  ),
  shards_owned: gauge('Shards that this process serves.', 'service'),
  cluster_shards: gauge(
    'Shards of the cluster. Exactly one process should serve each shard.',
    'service',
  ),
  shard_moves_total: counter(
    'Shards gained or given up, by reason: first, takeover, given or handed_off.',
    'service',
    'reason',
  ),
  shard_seals_total: counter(
    'Journals of other nodes that this process sealed, by reason: dead, stalled or unreachable.',
    'service',
    'reason',
  ),
  recovered_records_total: counter(
    'Records copied from the journals of other nodes into the journal of this process.',
    'service',
  ),
  recovery_seconds: seconds(
    'Time of a takeover: from the start of the recovery of a shard until the shard is served again.',
    'service',
  ),
  not_owner_total: counter(
    'Calls refused because another node owns their shard. Callers retry at that node.',
    'service',
  ),
  bus_connected: gauge('1 if NATS is connected or not needed, otherwise 0.'),
  bus_dropped_total: counter('Messages received from NATS and dropped, by reason.', 'reason'),
  clock_ahead_seconds: gauge(
    'Time by which the wall clock is ahead of the median of the other nodes. With fewer than two other nodes: 0.',
  ),
  clock_deviating: gauge(
    '1 while the wall clock differs by more than 60 s from most other nodes, otherwise 0.',
  ),
  db_client_operation_duration_seconds: seconds(
    'Time a statement took at the database.',
    'db_system_name',
    'db_operation_name',
    'error_type',
  ),
  db_client_second_server_total: counter(
    'Statements sent to a second server, by reason.',
    'db_operation_name',
    'reason',
  ),
  transitions_recorded_seconds: seconds(
    'Time from the commit of a change until its transitions are durable in the log of the account.',
  ),
  transitions_record_failures_total: counter(
    'Failed calls that record transitions. The calls are repeated.',
  ),
  webhook_attempts_total: counter(
    'Attempts to deliver a message to a webhook endpoint, by outcome.',
    'outcome',
  ),
  webhook_endpoints: gauge(
    'Webhook endpoints of the accounts of this engine: active, failing (no success since a failure), or paused.',
    'state',
  ),
  transitions_unrecorded_seconds: gauge(
    'Age of the oldest transition that is not in the log of its account yet.',
  ),
  transitions_unrecorded_bytes: gauge(
    'Estimated bytes of the transitions that are not in the log of their account yet.',
  ),
  index_build_seconds: seconds('Time to build the index of an account, which filtered lists need.'),
  index_build_failures_total: counter(
    'Failed attempts to build an index. The build continues a second later.',
  ),
  index_repairs_total: counter(
    'Repaired differences of an index, by reason: damaged, missed or counters.',
    'reason',
  ),
  index_unreadable_instances: gauge(
    'Instances with a damaged state. Lists with a filter leave them out.',
  ),
  limiter_checks_total: counter(
    'Admissions decided: allow, rate, quota, key, unavailable.',
    'decision',
  ),
  limiter_check_duration_seconds: seconds(
    'Time from the request of an edge for an admission to the answer.',
  ),
  limiter_frame_messages: histogram(MESSAGES, 'Messages in one frame that the limiter received.'),
  limiter_reservations_expired_total: counter(
    'Reservations that expired after 60 s without a settlement. Their cycles count as used.',
  ),
  limiter_watermark_raise_seconds: seconds(
    'Time until the journal contained the record that raises a durable watermark.',
    'watermark',
    'result',
  ),
  limiter_lost_cycles_total: counter(
    'Cycles charged although no call reported them as used, by cause.',
    'cause',
  ),
  limiter_heavy_losses_total: counter(
    'Accounts whose cycles lost in crashes have passed 0.1 % of their quota of the month.',
  ),
  edge_refused_unasked_total: counter(
    'Calls that the edge refused as rate_limited from a cached refusal of the limiter in the same window.',
  ),
  edge_unknown_keys_not_looked_up_total: counter(
    'Calls refused without asking the limiter because too many refused keys came from their address.',
  ),
  edge_fail_closed_total: counter(
    'Requests refused because the limiter gave no answer, by reason.',
    'reason',
  ),
  edge_unsettled_total: counter(
    'Settlements that did not reach the limiter. Their reservations expire, and the cycles count as used.',
  ),
  edge_fleet_observations_total: counter(
    'Observations in fleet calls, by status of the result.',
    'status',
  ),
  edge_retries_total: counter(
    'Retries of calls to engines and limiters, by the reason of the failure.',
    'reason',
  ),
  edge_unfinished_bodies: gauge('Requests with an incomplete body.'),
  edge_unfinished_body_bytes: gauge('Bytes of incomplete request bodies.'),
  edge_bodies_given_up_total: counter(
    'Request bodies refused because incomplete bodies exceeded a bound (count or bytes).',
  ),
  edge_pipelined_requests: gauge(
    'Pipelined requests that wait for earlier answers on their connection.',
  ),
  edge_unread_answer_bytes: gauge('Bytes of answers that callers have not read.'),
  edge_slow_readers_ended_total: counter(
    'Connections closed because callers did not read their answers, by cause.',
    'cause',
  ),
  edge_event_streams: gauge('Streams of events that are open.'),
  edge_event_streams_ended_total: counter('Streams of events that have ended, by cause.', 'cause'),
  log_lines_lost_total: counter(
    'Log lines lost because standard output or standard error refused them: a full disk or a closed pipe.',
  ),
  trace_spans_lost_total: counter(
    'Spans lost because the collector refused them or the queue was full.',
  ),
  trace_spans_open: gauge('Recorded spans that have begun and not ended.'),
  tls_certificate_expiry_timestamp_seconds: gauge(
    'Earliest expiry of a certificate in a chain or in a list of authorities, in Unix seconds.',
    'use',
  ),
  credential_loaded_timestamp_seconds: gauge(
    'When the certificates or the secret now in use were read from their files, in Unix seconds.',
    'use',
  ),
  credential_reload_failures_total: counter(
    'Reloads of changed certificate or secret files that failed.',
    'use',
  ),
  console_request_duration_seconds: seconds(
    'Time from the first byte of a request to the console to its answer.',
    'http_route',
    'http_response_status_code',
  ),
  console_sign_ins_total: counter(
    'Attempts to sign in to the console, by step (password, second_factor) and outcome: right, wrong, too_early.',
    'step',
    'outcome',
  ),
  audit_failures_total: counter(
    'Audit lines that were not durable in time. If the line was the first of an action, the action was refused.',
  ),
  edge_inflight: gauge('Calls that the edge has admitted and not answered.'),
} satisfies Record<string, MetricDefinition>;

/** Name of a metric in the catalog. */
export type MetricName = keyof typeof METRICS;

function seconds<Label extends string = never>(help: string, ...labels: readonly Label[]) {
  return histogram(SECONDS, help, ...labels);
}

type LabelsOf<Name extends MetricName> = (typeof METRICS)[Name]['labels'][number];
type NamesOf<K extends MetricKind> = {
  [Name in MetricName]: (typeof METRICS)[Name] extends { kind: K } ? Name : never;
}[MetricName];

/** Metrics of one process, by their names in the catalog. */
export type Metrics = {
  counter<Name extends NamesOf<'counter'>>(name: Name): Counter<LabelsOf<Name>>;
  gauge<Name extends NamesOf<'gauge'>>(name: Name): Gauge<LabelsOf<Name>>;
  histogram<Name extends NamesOf<'histogram'>>(name: Name): Histogram<LabelsOf<Name>>;
  /** Runs `refresh` before every scrape, for gauges whose values are kept elsewhere. */
  beforeScrape(refresh: () => void): void;
  /**
   * Scrape result and its content type. OpenMetrics with exemplars if the scraper accepts the
   * format.
   */
  scrape(accept?: string): Promise<{ contentType: string; text: string }>;
};

/** Creates a registry with every metric of the catalog and prom-client's default metrics. */
export function createMetrics(clock: WallClock = systemClock): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const made = new Map<string, Counter | Gauge | Histogram<string>>();
  for (const [name, definition] of Object.entries<MetricDefinition>(METRICS)) {
    made.set(name, makeMetric(name, definition, registry, clock));
  }
  const refreshers = [utilizationInto(made.get('nodejs_eventloop_utilization') as Gauge)];
  return {
    counter: (name) => made.get(name) as Counter<LabelsOf<typeof name>>,
    gauge: (name) => made.get(name) as Gauge<LabelsOf<typeof name>>,
    histogram: (name) => made.get(name) as Histogram<LabelsOf<typeof name>>,
    beforeScrape: (refresh) => void refreshers.push(refresh),
    scrape: async (accept) => {
      for (const refresh of refreshers) refresh();
      if (acceptsOpenMetrics(accept)) {
        const text = openMetricsText(await registry.getMetricsAsJSON());
        return { contentType: OPEN_METRICS_TYPE, text };
      }
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

/**
 * Minimum interval of a utilization, in milliseconds. If two programs scrape in succession, the
 * second would otherwise measure only the first program's scrape, which is all work.
 */
const UTILIZATION_MS_MIN = 5_000;

function utilizationInto(gauge: Gauge): () => void {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { idle, active, utilization } = performance.eventLoopUtilization(now, last);
    if (idle + active < UTILIZATION_MS_MIN) return;
    gauge.set(utilization);
    last = now;
  };
}
