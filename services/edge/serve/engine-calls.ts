import { createHash, createHmac, createSecretKey, type KeyObject, randomInt } from 'node:crypto';
import type { Caller } from '#edge/callers/exchange';
import type { AuditedCall } from '#edge/serve/account';
import { Fault, faultFor, invalid, toFault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import { derivedFrom, type Reloadable } from '#platform/files';
import type { Randomness } from '#platform/randomness';
import { traced } from '#platform/tracer';
import { CALL_TIMEOUT_MS_MAX } from '#wire/bounds';
import {
  type EngineAnswer,
  type EngineCall,
  type EngineClient,
  type EngineCommand,
  type IdempotencyKey,
  unnamedCall,
} from '#wire/engine-messages';
import type { CallName } from '#wire/limiter-messages';

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

/**
 * Where the ids of calls without a key end and those of keyed ones begin, which end at 2^52: both
 * are exact as numbers everywhere, and none is ever the other.
 */
const KEYED_ID_START = 2 ** 51;

/** Binds what is derived to its purpose: the same secret signs and names other things as well. */
const CALL_NAME_LABEL = 'identity-engine call name';

/** Characters of an `Idempotency-Key`. Source: decision 22. */
export const KEY_LENGTH_MAX = 255;

/**
 * Printable ASCII, of which HTTP itself takes the spaces at the ends away. The API document shows
 * it as it stands.
 */
export const IDEMPOTENCY_KEY = /^[!-~](?:[ -~]*[!-~])?$/;

/** The `Idempotency-Key` with the fingerprint of what it is used for. Source: decision 22. */
export function readIdempotencyKey(
  header: string | string[] | undefined,
  method: string,
  url: string,
  body: Buffer | undefined,
): IdempotencyKey | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== 'string' || !isIdempotencyKey(header)) {
    const text = 'Idempotency-Key: 1 to 255 printable ASCII characters';
    throw invalid('invalid_header', 'Idempotency-Key', text);
  }
  return { key: header, fingerprint: fingerprintOf(method, url, body ?? '') };
}

/** Fingerprint of a call: what must be the same when its key is used again. Source: decision 22. */
export function fingerprintOf(method: string, url: string, body: Buffer | string): string {
  return createHash('sha256').update(`${method} ${url}\n`).update(body).digest('hex');
}

/** Whether a text may be an idempotency key, of a call or of a batch's item. */
export function isIdempotencyKey(text: string): boolean {
  return text.length <= KEY_LENGTH_MAX && IDEMPOTENCY_KEY.test(text);
}

/**
 * Gives every call of this process an id of its own, or the name that its key stands for under the
 * first of `secrets`, which are the same on every edge, and which no caller has: one that could
 * compute names could make two calls of one, which are charged once.
 */
export class CallIds {
  /** Not its bytes: a key object is made once, and bytes again for every name, at 12 µs. */
  readonly #nameKey: Reloadable<KeyObject>;
  #next = randomInt(2 ** 46) * 2 ** 5;

  constructor(secrets: Reloadable<readonly string[]>) {
    this.#nameKey = derivedFrom(secrets, nameKeyOf);
  }

  /** A new id; unlike any of another edge's, because each starts at a number of its own. */
  next(): number {
    this.#next += 1;
    if (this.#next >= KEYED_ID_START) this.#next = 1;
    return this.#next;
  }

  /**
   * The name that a keyed call has on every edge and at every try: of account, instance and key
   * (decision 146). What a key is made of has no line break, so no two are written alike.
   */
  ofKey(
    caller: Caller,
    { kind }: Pick<EngineCommand, 'kind'>,
    instanceId: string,
    key: string,
  ): CallName {
    const scope = kind === 'create' ? 'create' : `on ${instanceId}`;
    const named = [caller.accountId, scope, key].join('\n');
    const digest = createHmac('sha256', this.#nameKey.current).update(named).digest();
    const callId = KEYED_ID_START + bitsOf(digest, 0, 51);
    return { callId, callTag: Math.max(1, bitsOf(digest, 8, 52)) };
  }
}

function nameKeyOf([secret = '']: readonly string[]): KeyObject {
  return createSecretKey(createHmac('sha256', secret).update(CALL_NAME_LABEL).digest());
}

/** The first 49 to 56 bits of a digest from a byte on, as a whole number below 2^`bits`. */
function bitsOf(digest: Buffer, start: number, bits: number): number {
  return digest.readUIntBE(start, 6) * 2 ** (bits - 48) + ((digest[start + 6] ?? 0) >> (56 - bits));
}

/** The id of the instance that a keyed create makes, the `attempt`-th time the key is used again. */
function instanceIdOfKey(secret: string, caller: Caller, key: string, attempt: number): string {
  const named = [caller.accountId, key, attempt].join('\n');
  return `inst_${createHmac('sha256', secret).update(named).digest('hex').slice(0, 16)}`;
}
