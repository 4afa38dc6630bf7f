import { LIMITER_TIMEOUT_MS } from '#grpc/call-bounds';
import type { Fault } from '#test/chaos/faults/fault';
import { FAULTS } from '#test/chaos/faults/faults';
import { ONE_AWAY_SHARE_MAX } from '#test/chaos/faults/three-node-faults';

/** Parameters of one cluster in the run. */
export type Phase = {
  /** Name of its folder and picture. */
  readonly name: string;
  /** Of its column in the table of runs. */
  readonly run: string;
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
  run: 'timeout 1 s',
  title: 'One Cassandra node, limiter timeout of 1 s',
  about:
    'Edges wait 1 s for a limiter, as in `make cluster`, because all processes share the cores of a machine.',
};

const STRICT = {
  name: 'chaos-strict',
  run: 'timeout 100 ms',
  title: 'One Cassandra node, limiter timeout of 100 ms',
  about:
    'Edges refuse after 100 ms, as in production. Limiters share cores, so starting processes also cause refusals.',
  limiterTimeoutMs: LIMITER_TIMEOUT_MS,
};

const REPLICATED = {
  name: 'chaos-three-nodes',
  run: 'three nodes',
  title: 'Three Cassandra nodes',
  about:
    'Each node has all data (`make cluster CASSANDRA=3`); two are a majority. With a node down, at most ' +
    `${100 * ONE_AWAY_SHARE_MAX} % of the calls may fail. With two nodes down, no change may be acknowledged.`,
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
