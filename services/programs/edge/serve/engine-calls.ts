/* The edge's engine calls. Sets each call's deadline once, for all later hops. */
import { createHmac, createSecretKey, hash, type KeyObject, randomInt } from 'node:crypto';
import type { Caller } from '#edge/http';
import type { AuditedCall } from '#edge/serve/account';
import { Fault, faultFor, invalid, toFault } from '#errors/fault';
import { CALL_TIMEOUT_MS_MAX } from '#grpc/call-bounds';
import {
  bodyText,
  type EngineAnswer,
  type EngineCall,
  type EngineClient,
  type EngineCommand,
  type Fork,
  forkStartFrom,
  type IdempotencyKey,
  unnamedCall,
} from '#grpc/engine-messages';
import type { CallName } from '#grpc/limiter-messages';
import type { Clock } from '#stdlib/clock';
import { derivedFrom, type Reloadable } from '#stdlib/files';
import type { Randomness } from '#stdlib/randomness';
import { traced } from '#telemetry/tracer';

/**
 * Maximum number of ids that a keyed create tries. A key that is used again after 24 h gets another
 * id (decision 22).
 */
const KEYED_ATTEMPTS_MAX = 32;

/** Maximum random ids drawn for a create. Among 2^64 ids, collisions are rare. */
const RANDOM_ATTEMPTS_MAX = 3;

const INSTANCE_ID = /^inst_[0-9a-f]{16}$/;

/** An engine call without the account and the deadline, which `EngineCalls` adds. */
export type EngineQuestion = Omit<EngineCall, 'accountId' | 'deadlineAtMs'>;

/** An engine's answer. For a create, `location` is the new instance's path without the prefix. */
export type EdgeAnswer = EngineAnswer & { readonly location?: string };

/**
 * Engine client on behalf of callers: sets deadlines, refuses impossible ids, and chooses ids for
 * new instances.
 */
export class EngineCalls {
  readonly #engine: EngineClient;
  readonly #clock: Clock;
  readonly #randomness: Randomness;
  readonly #secrets: Reloadable<readonly string[]>;

  /**
   * The first secret derives the ids for keyed creates, and is the same on every edge. Instances
   * created under the other secrets are still found (decision 134).
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
   * Asks the engine, until `deadlineAtMs` in Unix milliseconds. Throws the engine's faults.
   *
   * An impossible id is `not_found` without a call (decision 19). If `audited` is set, its first
   * line is written before the engine is asked.
   */
  ask(
    caller: Caller,
    question: EngineQuestion,
    audited?: AuditedCall,
    deadlineAtMs = this.#clock.wallMs() + CALL_TIMEOUT_MS_MAX,
  ): EdgeAnswer | Promise<EdgeAnswer> {
    // Copy field by field: on this path, a spread costs more than the rest of the call.
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
    const fork = forkOf(call);
    if (fork !== undefined && !INSTANCE_ID.test(question.instanceId)) throw noSuchInstance();
    if (question.command.kind === 'create') return this.#create(caller, call, audited);
    const { kind } = question.command;
    const isOfAccount = OF_ACCOUNT.has(kind);
    if (!isOfAccount && !INSTANCE_ID.test(question.instanceId)) throw noSuchInstance();
    return this.#asked(call, audited);
  }

  /**
   * Asks the engine to process observations. Like `ask`, but for a call that the caller has filled
   * in, because a fleet call has a thousand of them.
   */
  process(call: EngineCall): EngineAnswer | Promise<EngineAnswer> {
    if (!INSTANCE_ID.test(call.instanceId)) throw noSuchInstance();
    const idempotency = this.#idempotencyOf(call);
    return this.#engine.ask(idempotency === call.idempotency ? call : { ...call, idempotency });
  }

  #asked(call: EngineCall, audited: AuditedCall | undefined): EngineAnswer | Promise<EngineAnswer> {
    if (audited === undefined) return this.#engine.ask(call);
    return this.#askedAudited(call, audited);
  }

  /**
   * Looks up the instance, writes the audit line with the name of the instance, then asks the
   * engine. A write to a missing instance changes nothing and leaves no line. Audited writes are
   * rare, so the extra read is cheap.
   */
  async #askedAudited(call: EngineCall, audited: AuditedCall): Promise<EngineAnswer> {
    const present = call.command.kind === 'create' ? {} : await this.#present(call);
    if (present === undefined) {
      if (call.idempotency === undefined) throw noSuchInstance();
      // A repeated deletion can still have a stored answer, and cannot change anything.
      const replayed = this.#engine.ask({ ...call, isReplayOnly: true });
      const answer = await Promise.resolve(replayed).catch(unlessNothingToReplay);
      if (answer === undefined) throw noSuchInstance();
      return answer;
    }
    const parentId = forkOf(call)?.start?.parentId;
    if (parentId !== undefined) await audited.begin(parentId);
    await audited.begin(call.instanceId, namesIn(call, present));
    return await this.#engine.ask(call);
  }

  /** The instance of a call; undefined if the account has no such instance. */
  async #present({
    accountId,
    instanceId,
    deadlineAtMs,
    traceparent,
  }: EngineCall): Promise<NamedInstance | undefined> {
    const read = {
      accountId,
      instanceId,
      deadlineAtMs,
      command: { kind: 'readInstance' },
    } as const;
    try {
      const answer = await this.#engine.ask(traced(unnamedCall(read), traceparent));
      return (JSON.parse(bodyText(answer)) as { readonly data?: NamedInstance }).data ?? {};
    } catch (error) {
      if (toFault(error).code === 'not_found') return undefined;
      throw error;
    }
  }

  /**
   * Adds `isNameUnsure` while secrets change. Other edges may then list the secrets in reverse and
   * derive another call name.
   */
  #idempotencyOf({ idempotency }: Pick<EngineCall, 'idempotency'>): IdempotencyKey | undefined {
    if (idempotency === undefined || this.#secrets.current.length < 2) return idempotency;
    return { ...idempotency, isNameUnsure: true };
  }

  /** Creates an instance. A retry must also find an instance created under an earlier secret. */
  async #create(
    caller: Caller,
    call: EngineCall,
    audited: AuditedCall | undefined,
  ): Promise<EdgeAnswer> {
    const key = call.idempotency?.key;
    const random = () => `inst_${this.#randomness.hex(16)}`;
    if (key === undefined) {
      const started = await this.#started(call);
      return await this.#createAt(started, RANDOM_ATTEMPTS_MAX, random, audited);
    }
    const [secret = '', ...earlier] = this.#secrets.current;
    // A repeated fork must not depend on its parent, which may be trimmed or deleted meanwhile.
    const answered = forkOf(call) === undefined ? earlier : this.#secrets.current;
    for (const other of answered) {
      const idOf = (attempt: number) => instanceIdOfKey(other, caller, key, attempt);
      const replayed = this.#createAt({ ...call, isReplayOnly: true }, KEYED_ATTEMPTS_MAX, idOf);
      const answer = await replayed.catch(unlessNothingToReplay);
      if (answer !== undefined) return answer;
    }
    const idOf = (attempt: number) => instanceIdOfKey(secret, caller, key, attempt);
    return await this.#createAt(await this.#started(call), KEYED_ATTEMPTS_MAX, idOf, audited);
  }

  /**
   * Adds the start of a fork and the parent's tags, which the parent's engine reads. Tags in the
   * call replace the parent's tags. Throws the parent's refusals.
   */
  async #started(call: EngineCall): Promise<EngineCall> {
    const { accountId, instanceId, deadlineAtMs, command, traceparent } = call;
    const fork = forkOf(call);
    if (command.kind !== 'create' || fork === undefined || call.isReplayOnly) return call;
    const { generation, cycle } = fork;
    const read = { kind: 'readForkStart', generation, cycle } as const;
    const asked = unnamedCall({ accountId, instanceId, deadlineAtMs, command: read });
    const { start, ...tags } = forkStartFrom(await this.#engine.ask(traced(asked, traceparent)));
    return { ...call, command: { ...tags, ...command, fork: { ...fork, start } } };
  }

  /**
   * Tries ids until an id is free. Each instance's actor decides whether the id is free, so no two
   * actors need to agree (architecture 3.5).
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
    throw faultFor('already_exists', 'found no free instance id; retry');
  }
}

/** The name in an instance as an engine answers it. */
type NamedInstance = { readonly name?: string };

/** Names of an instance before and after a write, for the audit line. */
function namesIn(
  { command }: EngineCall,
  { name: before }: NamedInstance,
): Parameters<AuditedCall['begin']>[1] {
  const isNamed = command.kind === 'create' || command.kind === 'rename';
  const after = isNamed ? command.name : undefined;
  return {
    ...(before !== undefined && { before: { name: before } }),
    ...(after !== undefined && { after: { name: after } }),
  };
}

/** Wanted start of a fork; undefined for every other call. */
function forkOf({ command }: EngineCall): Fork | undefined {
  return command.kind === 'create' ? command.fork : undefined;
}

function noSuchInstance(): Fault {
  return new Fault('not_found', 'no such instance');
}

/**
 * Returns undefined for a replay without a stored answer, which the engine reports as
 * `quota_exceeded` (decision 22). Throws all other errors.
 */
function unlessNothingToReplay(error: unknown): undefined {
  if (toFault(error).code !== 'quota_exceeded') throw error;
}

/** Commands to an account, whose calls need no instance id. */
const OF_ACCOUNT: ReadonlySet<EngineCommand['kind']> = new Set(['list', 'readFeed', 'readFleet']);

/**
 * Smallest id for keyed calls. Other calls have smaller ids, so the two ranges do not overlap.
 * Keyed ids are below 2^52, so every id is exact as a JavaScript number.
 */
const KEYED_ID_START = 2 ** 51;

/** Domain separation: the same secret also derives signatures and other names. */
const CALL_NAME_LABEL = 'identity-engine call name';

/** Maximum `Idempotency-Key` length, in characters. Source: decision 22. */
export const KEY_LENGTH_MAX = 255;

/**
 * Printable ASCII without spaces at the ends, because HTTP strips these. The API document shows the
 * pattern verbatim.
 */
export const IDEMPOTENCY_KEY = /^[!-~](?:[ -~]*[!-~])?$/;

/**
 * Parses the `Idempotency-Key` header and adds the call's fingerprint. Throws `invalid_header`
 * (400). Source: decision 22.
 */
export function readIdempotencyKey(
  header: string | string[] | undefined,
  method: string,
  url: string,
  body: Buffer | undefined,
): IdempotencyKey | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== 'string' || !isIdempotencyKey(header)) {
    const text = 'Idempotency-Key: must have 1 to 255 printable ASCII characters';
    throw invalid('invalid_header', 'Idempotency-Key', text);
  }
  return { key: header, fingerprint: fingerprintOf(method, url, body ?? '') };
}

/**
 * A call's fingerprint, which must be equal whenever its key is used again. Source: decision 22.
 */
export function fingerprintOf(method: string, url: string, body: Buffer | string): string {
  const start = `${method} ${url}\n`;
  if (typeof body === 'string') return hash('sha256', start + body);
  return hash('sha256', Buffer.concat([Buffer.from(start), body]));
}

/** Whether a text is a valid idempotency key, for a call or a batch item. */
export function isIdempotencyKey(text: string): boolean {
  return text.length <= KEY_LENGTH_MAX && IDEMPOTENCY_KEY.test(text);
}

/**
 * Call ids: a unique id for a call without key, and a derived name for a keyed call.
 *
 * Names are derived from the first secret, which is the same on every edge and unknown to callers.
 * A caller who could compute names could merge two calls into one charge.
 */
export class CallIds {
  /** A key object, created once: raw bytes would cost 12 µs per name. */
  readonly #nameKey: Reloadable<KeyObject>;
  #next = randomInt(2 ** 46) * 2 ** 5;

  constructor(secrets: Reloadable<readonly string[]>) {
    this.#nameKey = derivedFrom(secrets, nameKeyOf);
  }

  /** A new id. Each edge counts from a random start, so two edges' ids rarely collide. */
  next(): number {
    this.#next += 1;
    if (this.#next >= KEYED_ID_START) this.#next = 1;
    return this.#next;
  }

  /**
   * A keyed call's name, equal on every edge and for every retry (decision 146).
   *
   * Derived from account, instance and key. No part contains a line break, so joined texts are
   * unambiguous.
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

/** Integer from `bits` digest bits (49 to 56), from byte `start` on. */
function bitsOf(digest: Buffer, start: number, bits: number): number {
  return digest.readUIntBE(start, 6) * 2 ** (bits - 48) + ((digest[start + 6] ?? 0) >> (56 - bits));
}

/** Instance id for a keyed create. `attempt` counts earlier uses of the key. */
function instanceIdOfKey(secret: string, caller: Caller, key: string, attempt: number): string {
  const named = [caller.accountId, key, attempt].join('\n');
  return `inst_${createHmac('sha256', secret).update(named).digest('hex').slice(0, 16)}`;
}
