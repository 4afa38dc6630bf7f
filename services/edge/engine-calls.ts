import type { AuditedCall } from '#edge/audited-call';
import { instanceIdOfKey } from '#edge/call-identity';
import type { Caller } from '#edge/exchange';
import { Fault, faultFor, toFault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { Randomness } from '#platform/randomness';
import type { Reloadable } from '#platform/reloadable';
import { traced } from '#platform/traceparent';
import {
  type EngineAnswer,
  type EngineCall,
  type EngineClient,
  type IdempotencyKey,
  unnamedCall,
} from '#wire/engine-messages';
import { CALL_TIMEOUT_MS_MAX } from '#wire/wire-bounds';

/** Days a key may have been used again before a create gives up; a key lives 24 h (decision 22). */
const KEYED_ATTEMPTS_MAX = 32;

/** Random ids drawn before a create gives up; one in 2^64 is taken. */
const RANDOM_ATTEMPTS_MAX = 3;

const INSTANCE_ID = /^inst_[0-9a-f]{16}$/;

/** A call without what the edge adds to it. */
export type EngineQuestion = Omit<EngineCall, 'accountId' | 'deadlineAtMs'>;

/** An engine's answer and, for a create, where the new instance is, below the prefix of all endpoints. */
export type EdgeAnswer = EngineAnswer & { readonly location?: string };

/** Asks the engine on a caller's behalf: deadline, unknown ids, and the ids of new instances. */
export class EngineCalls {
  readonly #engine: EngineClient;
  readonly #clock: Clock;
  readonly #randomness: Randomness;
  readonly #secrets: Reloadable<readonly string[]>;

  /**
   * The first of `secrets` names the instances of keyed creates; every edge of a cluster has the
   * same. What was created under one of the others is found again (decision 134).
   */
  constructor(
    engine: EngineClient,
    clock: Clock,
    randomness: Randomness,
    secrets: Reloadable<readonly string[]>,
  ) {
    this.#engine = engine;
    this.#clock = clock;
    this.#randomness = randomness;
    this.#secrets = secrets;
  }

  /**
   * Throws the engine's faults; an id that cannot exist is `not_found` unasked (decision 19). What is
   * `audited` begins before the engine is asked, with the id of the instance.
   */
  ask(
    caller: Caller,
    question: EngineQuestion,
    audited?: AuditedCall,
  ): EdgeAnswer | Promise<EdgeAnswer> {
    const deadlineAtMs = this.#clock.wallMs() + CALL_TIMEOUT_MS_MAX;
    // Written out: on this path a spread costs more than the whole call.
    const call: EngineCall = {
      accountId: caller.accountId,
      instanceId: question.instanceId,
      callId: question.callId,
      deadlineAtMs,
      idempotency: this.#idempotencyOf(question),
      isReplayOnly: question.isReplayOnly,
      ifMatch: question.ifMatch,
      command: question.command,
    };
    const { modelVersion } = question;
    if (modelVersion !== undefined) Object.assign(call, { modelVersion });
    traced(call, question.traceparent);
    if (question.command.kind === 'create') return this.#create(caller, call, audited);
    if (question.command.kind !== 'list' && !INSTANCE_ID.test(question.instanceId)) {
      throw noSuchInstance();
    }
    return this.#asked(call, audited);
  }

  #asked(call: EngineCall, audited: AuditedCall | undefined): EngineAnswer | Promise<EngineAnswer> {
    if (audited === undefined) return this.#engine.ask(call);
    return this.#askedAudited(call, audited);
  }

  /**
   * A write to what does not exist changes nothing and leaves no line: it is looked up
   * before its line is written. Such writes are rare, so that the second call costs little.
   */
  async #askedAudited(call: EngineCall, audited: AuditedCall): Promise<EngineAnswer> {
    if (call.command.kind !== 'create' && !(await this.#isThere(call))) {
      if (call.idempotency === undefined) throw noSuchInstance();
      // A deletion that is tried again has its answer still, and nothing else can come of it.
      const replayed = this.#engine.ask({ ...call, isReplayOnly: true });
      const answer = await Promise.resolve(replayed).catch(unlessNothingToReplay);
      if (answer === undefined) throw noSuchInstance();
      return answer;
    }
    await audited.begin(call.instanceId);
    return await this.#engine.ask(call);
  }

  async #isThere({
    accountId,
    instanceId,
    deadlineAtMs,
    traceparent,
  }: EngineCall): Promise<boolean> {
    const read = {
      accountId,
      instanceId,
      deadlineAtMs,
      command: { kind: 'readInstance' },
    } as const;
    try {
      await this.#engine.ask(traced(unnamedCall(read), traceparent));
      return true;
    } catch (error) {
      if (toFault(error).code === 'not_found') return false;
      throw error;
    }
  }

  /** With two secrets other edges may list them the other way round, and name the call otherwise. */
  #idempotencyOf({ idempotency }: EngineQuestion): IdempotencyKey | undefined {
    if (idempotency === undefined || this.#secrets.current.length < 2) return idempotency;
    return { ...idempotency, isNameUnsure: true };
  }

  /** A retry of a create that was made before the secret changed must find its instance. */
  async #create(
    caller: Caller,
    call: EngineCall,
    audited: AuditedCall | undefined,
  ): Promise<EdgeAnswer> {
    const key = call.idempotency?.key;
    const random = () => `inst_${this.#randomness.hex(16)}`;
    if (key === undefined) return await this.#createAt(call, RANDOM_ATTEMPTS_MAX, random, audited);
    const [secret = '', ...earlier] = this.#secrets.current;
    for (const other of earlier) {
      const idOf = (attempt: number) => instanceIdOfKey(other, caller, key, attempt);
      const replayed = this.#createAt({ ...call, isReplayOnly: true }, KEYED_ATTEMPTS_MAX, idOf);
      const answer = await replayed.catch(unlessNothingToReplay);
      if (answer !== undefined) return answer;
    }
    const idOf = (attempt: number) => instanceIdOfKey(secret, caller, key, attempt);
    return await this.#createAt(call, KEYED_ATTEMPTS_MAX, idOf, audited);
  }

  /**
   * The instance's own actor decides whether its id is free, so no two actors need to agree: a
   * taken id means the next one (architecture 3.5).
   */
  async #createAt(
    call: EngineCall,
    attempts: number,
    idOf: (attempt: number) => string,
    audited?: AuditedCall,
  ): Promise<EdgeAnswer> {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const instanceId = idOf(attempt);
      try {
        const answer = await this.#asked({ ...call, instanceId }, audited);
        return { ...answer, location: `/instances/${instanceId}` };
      } catch (error) {
        if (toFault(error).reason !== 'already_exists') throw error;
        await audited?.ended('conflict');
      }
    }
    throw faultFor('already_exists', 'no free instance id was found; try again');
  }
}

function noSuchInstance(): Fault {
  return new Fault('not_found', 'no such instance');
}

/** What the engine says of a call that it may only answer again and never answered (decision 22). */
function unlessNothingToReplay(error: unknown): undefined {
  if (toFault(error).code !== 'quota_exceeded') throw error;
}
