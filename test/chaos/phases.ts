import { LIMITER_TIMEOUT_MS } from '#grpc/call-bounds';
import type { Fault } from '#test/chaos/faults/fault';
import { FAULTS } from '#test/chaos/faults/faults';

/** One cluster of a chaos test, and its faults. */
export type Phase = {
  /** Name of the folder and the picture. */
  readonly name: string;
  /** Column head in the summary table. */
  readonly run: string;
  readonly title: string;
  /** Describes the settings in the report. */
  readonly about: string;
  /** Limiter timeout in ms; default: the timeout of `make cluster`. */
  readonly limiterTimeoutMs?: number;
  /** Cassandra nodes; default 1. */
  readonly cassandraNodes?: 3;
  readonly faults: readonly Fault[];
};

const USUAL = {
  name: 'chaos',
  run: 'limiter timeout 1 s',
  title: 'One Cassandra node, limiter timeout of 1 s',
  about:
    'Edges wait up to 1 s for an answer of a limiter, as in `make cluster`, because all processes share one machine.',
};

const STRICT = {
  name: 'chaos-strict',
  run: 'limiter timeout 100 ms',
  title: 'One Cassandra node, limiter timeout of 100 ms',
  about:
    'Edges wait up to 100 ms for an answer of a limiter, as in production, and then refuse the call. Starting processes ' +
    'also cause refusals, because they take CPU time from the limiters.',
  limiterTimeoutMs: LIMITER_TIMEOUT_MS,
};

const REPLICATED = {
  name: 'chaos-three-nodes',
  run: 'three Cassandra nodes',
  title: 'Three Cassandra nodes',
  about:
    'Each node stores all data (`make cluster CASSANDRA=3`). Two nodes are a majority. If two nodes are down, the service ' +
    'must not acknowledge changes.',
  cassandraNodes: 3,
} as const;

/**
 * Assigns the faults with these names to clusters; all faults if `names` is undefined. Limiter
 * faults run with the limiter timeout of production, replica faults with three Cassandra nodes. A
 * full run repeats some other faults with the production timeout, for comparison.
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
