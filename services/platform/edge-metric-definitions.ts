import type { MetricDefinition } from '#platform/make-metric';

/** The metrics of the edge's own bounds: a part of the catalog, which is too long for one file. */
export const EDGE_METRICS = {
  edge_refused_unasked_total: {
    kind: 'counter',
    help: 'Calls refused as rate_limited without asking the limiter, which had refused the key in this window.',
    labels: [],
  },
  edge_unknown_keys_not_looked_up_total: {
    kind: 'counter',
    help: 'Calls refused without asking the limiter because too many refused keys came from their address.',
    labels: [],
  },
  edge_fail_closed_total: {
    kind: 'counter',
    help: 'Requests refused because the limiter gave no answer, by reason.',
    labels: ['reason'],
  },
  edge_unsettled_total: {
    kind: 'counter',
    help: 'Settlements that did not reach the limiter; their cycles expire as used.',
    labels: [],
  },
  edge_retries_total: {
    kind: 'counter',
    help: 'Further tries of calls to engines and limiters, by why the one before failed.',
    labels: ['reason'],
  },
  edge_unfinished_bodies: {
    kind: 'gauge',
    help: 'Requests whose body has begun to arrive and is not complete.',
    labels: [],
  },
  edge_unfinished_body_bytes: {
    kind: 'gauge',
    help: 'Bytes that such bodies hold.',
    labels: [],
  },
  edge_bodies_given_up_total: {
    kind: 'counter',
    help: 'Bodies that were given up because too many, or too large ones, were unfinished.',
    labels: [],
  },
  edge_pipelined_requests: {
    kind: 'gauge',
    help: 'Requests that wait until the answers in front of theirs have left.',
    labels: [],
  },
  edge_unread_answer_bytes: {
    kind: 'gauge',
    help: 'Bytes of answers that their callers have not taken.',
    labels: [],
  },
  edge_slow_readers_ended_total: {
    kind: 'counter',
    help: 'Connections ended because they did not take their answers, by cause.',
    labels: ['cause'],
  },
  edge_inflight: {
    kind: 'gauge',
    help: 'Calls that the edge has admitted and not answered.',
    labels: [],
  },
} as const satisfies Record<string, MetricDefinition>;
