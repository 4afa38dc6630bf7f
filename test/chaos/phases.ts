import { LIMITER_TIMEOUT_MS } from '#grpc/bounds';
import type { Fault } from '#test/chaos/fault';
import { FAULTS } from '#test/chaos/faults';
import { ONE_AWAY_SHARE_MAX } from '#test/chaos/three-node-faults';

/** Parameters of one cluster in the run. */
export type Phase = {
  /** Name of its folder and picture. */
  readonly name: string;
  readonly title: string;
  /** Limiter timeout or other special setting, for the report. */
  readonly about: string;
  /** Limiter timeout in milliseconds; default as in `make cluster`. */
  readonly limiterTimeoutMs?: number;
  /** Default 1. */
  readonly cassandraNodes?: 3;
  readonly faults: readonly Fault[];
};

const USUAL = {
  name: 'chaos',
  title: 'One Cassandra node, limiter timeout of 1 s',
  about:
    'Edges wait 1 s for a limiter, as in `make cluster`: all processes share the cores of one machine, so a healthy\n' +
    'limiter can answer late.',
};

const STRICT = {
  name: 'chaos-strict',
  title: 'One Cassandra node, limiter timeout of 100 ms',
  about:
    'Edges refuse a call if the limiter does not answer within 100 ms, as in production. Here the limiter has no cores\n' +
    'of its own, so a starting process also causes refusals.',
  limiterTimeoutMs: LIMITER_TIMEOUT_MS,
};

const REPLICATED = {
  name: 'chaos-three-nodes',
  title: 'Three Cassandra nodes',
  about:
    'Each node has a copy of all data (`make cluster CASSANDRA=3`), and two nodes are a majority. With one node down, at\n' +
    `most ${100 * ONE_AWAY_SHARE_MAX} % of the calls may fail. With two nodes down, no change may be acknowledged.`,
  cassandraNodes: 3,
} as const;

/**
 * Clusters for the given faults. Limiter faults use a cluster with production timeouts, Cassandra
 * faults one with three nodes. A full run repeats the targets' faults on those clusters, for
 * comparison.
 */
export function phasesOf(names: readonly string[] | undefined): Phase[] {
  const wanted = FAULTS.filter(({ name }) => names?.includes(name) ?? true);
  const isStrict = ({ isTimed, isCompared }: Fault) =>
    isTimed === true || (names === undefined && isCompared === true);
  const phases: Phase[] = [
    { ...USUAL, faults: wanted.filter(({ isTimed, isReplicated }) => !(isTimed || isReplicated)) },
    { ...STRICT, faults: wanted.filter(isStrict) },
    { ...REPLICATED, faults: wanted.filter(({ isReplicated }) => isReplicated) },
  ];
  return phases.filter(({ faults }) => faults.length > 0);
}
