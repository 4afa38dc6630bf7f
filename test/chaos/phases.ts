import type { Fault } from '#test/chaos/fault';
import { FAULTS } from '#test/chaos/faults';
import { ONE_AWAY_SHARE_MAX } from '#test/chaos/three-node-faults';
import { LIMITER_TIMEOUT_MS } from '#wire/wire-bounds';

/** What one cluster is put through. */
export type Phase = {
  /** Of its folder and its picture. */
  readonly name: string;
  readonly title: string;
  /** How its edges wait for limiters, or what else is special, as the report says it. */
  readonly about: string;
  /** How long they do, in milliseconds; as `make cluster` has it unless given. */
  readonly limiterTimeoutMs?: number;
  /** 1 unless given. */
  readonly cassandraNodes?: 3;
  readonly faults: readonly Fault[];
};

const USUAL = {
  name: 'chaos',
  title: 'The cluster as it is',
  about:
    'Edges wait a second for a limiter, as in `make cluster`: all processes share the cores of this\n' +
    'machine, and one that has to wait for them is not broken.',
};

const STRICT = {
  name: 'chaos-strict',
  title: 'With edges that wait 100 ms for a limiter',
  about:
    'As in production, where a limiter has its own cores: what is not answered within 100 ms is\n' +
    'refused (architecture 4). Here that is also so when a process that starts has both cores.',
  limiterTimeoutMs: LIMITER_TIMEOUT_MS,
};

const REPLICATED = {
  name: 'chaos-three-nodes',
  title: 'On three Cassandra nodes',
  about:
    'Each has a copy of everything (`make cluster CASSANDRA=3`), and two make a majority. Demanded: with\n' +
    `one of them away at most ${100 * ONE_AWAY_SHARE_MAX} % of the calls fail; with two away nothing is acknowledged.`,
  cassandraNodes: 3,
} as const;

/**
 * The clusters that these faults take: those of limiters one whose edges fail closed as in production,
 * those of Cassandra nodes one that has three.
 * A full run does to that one also what the targets name, so that both can be compared.
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
