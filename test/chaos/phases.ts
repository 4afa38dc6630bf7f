import { FAULTS, type Fault } from '#test/chaos/faults';
import { LIMITER_TIMEOUT_MS } from '#wire/wire-bounds';

/** What one cluster is put through. */
export type Phase = {
  /** Of its folder and its picture. */
  readonly name: string;
  readonly title: string;
  /** How its edges wait for limiters, as the report says it. */
  readonly about: string;
  /** How long they do, in milliseconds; as `make cluster` has it unless given. */
  readonly limiterTimeoutMs?: number;
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

/**
 * The clusters that these faults take: those of limiters one whose edges fail closed as in production.
 * A full run does to that one also what the targets name, so that both can be compared.
 */
export function phasesOf(names: readonly string[] | undefined): Phase[] {
  const wanted = FAULTS.filter(({ name }) => names?.includes(name) ?? true);
  const isStrict = ({ isTimed, isCompared }: Fault) =>
    isTimed === true || (names === undefined && isCompared === true);
  const phases: Phase[] = [
    { ...USUAL, faults: wanted.filter(({ isTimed }) => isTimed !== true) },
    { ...STRICT, faults: wanted.filter(isStrict) },
  ];
  return phases.filter(({ faults }) => faults.length > 0);
}
