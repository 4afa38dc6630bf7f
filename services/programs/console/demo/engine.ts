/* Engine calls of the demonstration. */
import type { ConsolePorts } from '#console/app/ports';
import type { DemoAgent } from '#console/demo/content';
import { DEMO_TAG, isDemo } from '#console/demo/marks';
import { dayLeftS, idsOf } from '#console/demo/places';
import { strengthsOf, type TimedObservation, weekOf } from '#console/demo/weeks';
import type { CallIds } from '#edge/serve/engine-calls';
import type { EngineReads } from '#edge/serve/engine-reads';
import { Fault, faultFor, toFault } from '#errors/fault';
import { CALL_TIMEOUT_MS_MAX } from '#grpc/call-bounds';
import { bodyText, type EngineAnswer, type EngineCommand } from '#grpc/engine-messages';
import { ENERGY_DEFAULT } from '#identity/state';

/** Cycles that the limiter granted to a load, and their use. */
export type Grant = {
  readonly accountId: string;
  /** Reads with the deadline of the load. */
  readonly reads: EngineReads;
  readonly instancesMax: number;
  readonly modelVersion: string | undefined;
  /** Reserved cycles that no call has taken yet. */
  left: number;
  /** Applied cycles. */
  used: number;
  /** Cycles of calls with unknown outcome. */
  unknown: number;
};

/** Where an agent exists. */
type Place = { readonly id: string; readonly createdAtMs: number };

/** Part of an answer with an instance. */
type InstanceAnswer = {
  readonly data: {
    readonly created_at: string;
    readonly tags?: Readonly<Record<string, string>>;
  };
};

/** Creates, fills and removes single agents. Throws the engine's faults. */
export class DemoEngine {
  readonly #ports: Pick<ConsolePorts, 'engine' | 'clock'>;
  readonly #callIds: CallIds;

  constructor(ports: Pick<ConsolePorts, 'engine' | 'clock'>, callIds: CallIds) {
    this.#ports = ports;
    this.#callIds = callIds;
  }

  /** Creates an agent unless it exists at `known`, and applies the rest of its week. */
  async bringUp(agent: DemoAgent, known: Place | undefined, grant: Grant): Promise<void> {
    const place = known ?? (await this.#placeOf(agent, grant));
    const applied = await grant.reads.observationCount(place.id);
    const { observations, resetAfter } = weekOf(agent, place.createdAtMs);
    if (applied >= observations.length) return;
    if (resetAfter !== undefined && applied <= resetAfter) {
      await this.#process(place.id, observations.slice(applied, resetAfter), grant);
      // Another console may load the same agent: the version prevents a second reset.
      const { etag } = await this.#ask(place.id, { kind: 'readInstance' }, grant);
      const count = await grant.reads.observationCount(place.id);
      if (count !== resetAfter) throw newerObservations(place.id);
      await this.#ask(place.id, { kind: 'reset', mode: 'initial' }, grant, etag);
    }
    const rest = observations.slice(Math.max(applied, resetAfter ?? 0));
    await this.#process(place.id, rest, grant);
  }

  /**
   * Deletes an instance if it still has the mark. The listing can be older than the instance, so
   * the precondition names the version whose tags were read.
   */
  async removeMarked(accountId: string, id: string, reads: EngineReads): Promise<void> {
    const grant = { accountId, reads, modelVersion: undefined };
    try {
      const found = await this.#ask(id, { kind: 'readInstance' }, grant);
      if (!isDemo(instanceIn(found).tags ?? {})) return;
      await this.#ask(id, { kind: 'remove' }, grant, found.etag);
    } catch (error) {
      if (toFault(error).code !== 'not_found') throw error;
    }
  }

  /** Creates the agent at the first free id, or finds the instance of a concurrent load. */
  async #placeOf(agent: DemoAgent, grant: Grant): Promise<Place> {
    const nowMs = this.#ports.clock.wallMs();
    for (const id of idsOf(grant.accountId, agent.slug, nowMs)) {
      const place = (await this.#created(agent, id, grant)) ?? (await this.#found(id, grant));
      if (place !== undefined) return place;
    }
    const text = 'no more demonstrations today; each removal of an agent takes an id';
    throw new Fault('rate_limited', text, { retryAfterS: dayLeftS(nowMs) });
  }

  /** The created instance. Undefined if the id is taken. */
  async #created(agent: DemoAgent, id: string, grant: Grant): Promise<Place | undefined> {
    const [key, value] = DEMO_TAG;
    const { name, description, team } = agent;
    const command = {
      ...({ kind: 'create', name, description } as const),
      tagsJson: JSON.stringify({ [key]: value, team }),
      modeStrengths: strengthsOf(agent),
      ...{ energyLevel: ENERGY_DEFAULT, instancesMax: grant.instancesMax },
    };
    try {
      return placeIn(id, await this.#ask(id, command, grant));
    } catch (error) {
      if (TAKEN.has(toFault(error).reason)) return undefined;
      throw error;
    }
  }

  /** An existing instance with the mark. Undefined if it is deleted, or has lost the mark. */
  async #found(id: string, grant: Grant): Promise<Place | undefined> {
    try {
      const answer = await this.#ask(id, { kind: 'readInstance' }, grant);
      return isDemo(instanceIn(answer).tags ?? {}) ? placeIn(id, answer) : undefined;
    } catch (error) {
      if (toFault(error).code === 'not_found') return undefined;
      throw error;
    }
  }

  async #process(
    id: string,
    observations: readonly TimedObservation[],
    grant: Grant,
  ): Promise<void> {
    const count = observations.length;
    if (count === 0) return;
    if (count > grant.left) throw faultFor('overloaded', 'another load is in progress; retry');
    grant.left -= count;
    const batch = { isBatch: true, isEveryStateWanted: false } as const;
    try {
      const answer = await this.#ask(id, { kind: 'process', observations, ...batch }, grant);
      grant.used += answer.cycles;
      if (answer.cycles !== count) throw newerObservations(id);
    } catch (error) {
      if (toFault(error).isOutcomeUnknown) grant.unknown += count;
      throw error;
    }
  }

  async #ask(
    instanceId: string,
    command: EngineCommand,
    { accountId, reads, modelVersion }: Pick<Grant, 'accountId' | 'reads' | 'modelVersion'>,
    ifMatch?: string,
  ): Promise<EngineAnswer> {
    const { leftMs } = reads;
    if (leftMs === 0) throw faultFor('deadline_exceeded', 'not finished in time; continue');
    return await this.#ports.engine.ask({
      ...{ accountId, instanceId, command, ifMatch },
      ...{ callId: this.#callIds.next(), idempotency: undefined, isReplayOnly: false },
      deadlineAtMs: this.#ports.clock.wallMs() + Math.min(leftMs, CALL_TIMEOUT_MS_MAX),
      ...(modelVersion === undefined ? {} : { modelVersion }),
    });
  }
}

/** The engine applies no observation that is older than the newest observation of an instance. */
function newerObservations(id: string): Fault {
  const text = `the agent ${id} has newer observations; remove the demonstration and load it again`;
  return new Fault('conflict', text);
}

/** Reasons of a create whose id is taken by an instance that exists or existed. */
const TAKEN: ReadonlySet<string | undefined> = new Set(['already_exists', 'deleted']);

function instanceIn(answer: EngineAnswer): InstanceAnswer['data'] {
  return (JSON.parse(bodyText(answer)) as InstanceAnswer).data;
}

function placeIn(id: string, answer: EngineAnswer): Place {
  return { id, createdAtMs: Date.parse(instanceIn(answer).created_at) };
}
