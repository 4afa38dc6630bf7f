/* Past states and forks on the wire. */
import {
  DESCRIPTION_LENGTH_MAX,
  ID_LENGTH_MAX,
  NAME_LENGTH_MAX,
  STATE_BYTES_MAX,
  TIME_MS_MAX,
  TOKEN_LENGTH_MAX,
} from '#grpc/call-bounds';
import {
  type EngineCommand,
  EXACT_CYCLES_MAX,
  type ForkStart,
  POINTS_MAX,
} from '#grpc/engine-messages';
import { brokenMessage, trustInteger, trustText } from '#grpc/frame';
import type {
  EngineRequest,
  ForkInstance as WireFork,
  ReadForkStart as WireForkStart,
  ReadStates as WireReadStates,
} from '#grpc/gen/identity_engine/v1/engine';

type WireCommand = NonNullable<EngineRequest['command']>;

/** Encodes a call about the past of an instance. */
export function pastToWire(
  command: Extract<EngineCommand, { kind: 'readStates' | 'readForkStart' }>,
): WireCommand {
  const { generation } = command;
  if (command.kind === 'readForkStart') {
    return { $case: 'readForkStart', value: { generation, cycle: command.cycle } };
  }
  const { cycles, points } = command;
  return { $case: 'readStates', value: { generation, cycles: [...cycles], points } };
}

/** Encodes a fork. An engine of release 1.0 would ignore the start and create a new identity. */
export function forkToWire(
  { name, description, instancesMax }: Extract<EngineCommand, { kind: 'create' }>,
  start: ForkStart,
): Extract<WireCommand, { $case: 'fork' }> {
  const wire = { ...start, state: Buffer.from(start.state, 'latin1') };
  return { $case: 'fork', value: { name, description, instancesMax, start: wire } };
}

/** Decodes a fork. Throws `internal` for a value out of bounds. */
export function forkFromWire({
  name,
  description,
  instancesMax,
  start,
}: WireFork): Extract<EngineCommand, { kind: 'create' }> {
  if (start === undefined) throw brokenMessage('start of a fork');
  const { state, observedAtMs } = start;
  trustInteger(state.length, 1, STATE_BYTES_MAX, 'length of a state');
  if (observedAtMs !== undefined) trustInteger(observedAtMs, 0, TIME_MS_MAX, 'time');
  const cycle = trustCount(start.cycle, 'cycle');
  const generation = trustInteger(start.generation, 1, Number.MAX_SAFE_INTEGER, 'generation');
  const create = {
    ...({ kind: 'create', modeStrengths: [], energyLevel: 0 } as const),
    name: trustText(name, 1, NAME_LENGTH_MAX, 'name'),
    description: trustText(description, 0, DESCRIPTION_LENGTH_MAX, 'description'),
    fork: {
      cycle,
      generation,
      start: {
        parentId: trustText(start.parentId, 1, ID_LENGTH_MAX, 'parent'),
        ...{ generation, cycle, observedAtMs },
        originMs: trustInteger(start.originMs, 0, TIME_MS_MAX, 'time'),
        modelVersion: trustText(start.modelVersion, 1, TOKEN_LENGTH_MAX, 'model version'),
        state: Buffer.from(state).toString('latin1'),
      },
    },
  };
  return instancesMax === undefined ? create : { ...create, instancesMax };
}

/** Decodes a call for past states. Throws `internal` for a value out of bounds. */
export function statesFromWire({ generation, cycles, points }: WireReadStates): EngineCommand {
  for (const cycle of cycles) trustCount(cycle, 'cycle');
  trustInteger(cycles.length, 0, EXACT_CYCLES_MAX, 'number of cycles');
  trustInteger(points, cycles.length === 0 ? 1 : 0, POINTS_MAX, 'number of points');
  return { kind: 'readStates', generation, cycles, points };
}

/** Decodes a call for the start of a fork. Throws `internal` for a value out of bounds. */
export function forkStartFromWire({ generation, cycle }: WireForkStart): EngineCommand {
  return { kind: 'readForkStart', generation, cycle: trustCount(cycle, 'cycle') };
}

function trustCount(value: number, what: string): number {
  return trustInteger(value, 0, Number.MAX_SAFE_INTEGER, what);
}
