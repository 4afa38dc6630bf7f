import { keyDigestOf } from '#test/simulation/callers/accounts';
import { CallerRequests, commandOf } from '#test/simulation/callers/caller-requests';
import { patiently } from '#test/simulation/callers/timeouts';
import {
  type Call,
  type History,
  type Outcome,
  outcomeOfAnswer,
  outcomeOfError,
  type Requested,
} from '#test/simulation/checks/history';
import type { SeededRandom } from '#test/simulation/seeded-random';
import type { SimulatedEdge } from '#test/simulation/simulated/edge';
import { Violation } from '#test/simulation/stored/version-index';
import type { World } from '#test/simulation/world';

/** Dependencies of callers. */
export type CallerPorts = {
  readonly world: World;
  readonly history: History;
  readonly edges: () => readonly SimulatedEdge[];
  /** Share of changes with an `Idempotency-Key`. */
  readonly keyed: number;
  /** Called after every call. */
  readonly onEnded: (call: Call) => void;
};

/** Maximum attempts of a call with a key. A call without a key is not retried. */
const KEYED_TRIES = 4;

/** Share of changes with `If-Match`. */
const BOUND = 0.15;

/** Share of keyed attempts that are sent twice at the same time. */
const DOUBLED = 0.3;

/** Share of keyed calls that are repeated after their end, and the delay in ms. */
const REPEATED = 0.3;
const REPEATED_AFTER_MS = { from: 1_000, to: 12_000 } as const;

/** A client of one account: calls edges, retries with the same key, and records the outcomes. */
export class Caller {
  readonly account: string;
  readonly requests: CallerRequests;
  readonly #ports: CallerPorts;
  readonly #random: SeededRandom;
  readonly #repeats: Promise<void>[] = [];

  constructor(account: string, ports: CallerPorts) {
    this.account = account;
    this.#ports = ports;
    this.#random = ports.world.random.fork();
    this.requests = new CallerRequests(this.#random);
  }

  /** Creates an instance. Resolves to its id; undefined if no answer arrived. */
  async create(): Promise<string | undefined> {
    const { nextId } = this.#ports.history;
    const call = await this.carryOut('', this.requests.create(nextId), undefined);
    return call.instance === '' ? undefined : call.instance;
  }

  /** Makes a random call on an instance; `etag` is the newest answered ETag. */
  async use(instance: string, etag: string | undefined): Promise<Call> {
    const requested = this.requests.next(this.#ports.history.nextId);
    const isBindable =
      requested.kind === 'rename' || requested.kind === 'reset' || requested.kind === 'remove';
    const ifMatch = isBindable && this.#random.happens(BOUND) ? etag : undefined;
    return await this.carryOut(requested.kind === 'list' ? '' : instance, requested, ifMatch);
  }

  /** Makes one call, with retries. */
  async carryOut(
    instance: string,
    requested: Requested,
    ifMatch: string | undefined,
  ): Promise<Call> {
    const { world, history, onEnded } = this.#ports;
    const { account } = this;
    const call = history.begin({ requested, account, instance, ifMatch, invokedMs: world.nowMs });
    const isRead =
      requested.kind === 'read' || requested.kind === 'readHistory' || requested.kind === 'list';
    const key = !isRead && this.#random.happens(this.#ports.keyed) ? this.#key(call) : undefined;
    world.note(`op ${call.id} ${requested.kind} ${instance || account} ${key ?? ''}`);
    call.outcome = await this.#tries(call, key);
    call.endedMs = world.nowMs;
    world.note(`op ${call.id} ${instance} ends: ${JSON.stringify(call.outcome, shown)}`);
    onEnded(call);
    if (key !== undefined && this.#random.happens(REPEATED)) {
      const repeat = this.#repeat(call, key);
      this.#repeats.push(repeat);
      // The repetition runs concurrently; `repeated` throws its violations.
      repeat.catch(() => undefined);
    }
    return call;
  }

  /** Resolves after all delayed repetitions. Throws their violations. */
  async repeated(): Promise<void> {
    await Promise.all(this.#repeats);
  }

  /** Repeats an answered call, as if the answer was lost: the call must not be applied again. */
  async #repeat(call: Call, key: string): Promise<void> {
    const { outcome } = call;
    if (outcome.kind !== 'answered' || outcome.seen.isThrottled) return;
    const { from, to } = REPEATED_AFTER_MS;
    await this.#ports.world.sleep(this.#random.between(from, to));
    const again = await this.#try(call, key);
    if (again.kind !== 'answered' || again.seen.etag === outcome.seen.etag) return;
    throw new Violation(
      `call ${call.id} was applied twice: ETags ${outcome.seen.etag} and ${again.seen.etag}`,
    );
  }

  async #tries(call: Call, key: string | undefined): Promise<Outcome> {
    let isUnknown = false;
    for (let left = key === undefined ? 1 : KEYED_TRIES; left > 0; left -= 1) {
      const outcome = await this.#once(call, key);
      if (isDone(outcome)) return outcome;
      isUnknown ||= outcome.kind === 'unknown';
      if (left === 1 || isFinal(outcome)) return isUnknown ? { kind: 'unknown' } : outcome;
      await this.#ports.world.sleep(this.#random.between(50, 1_500));
    }
    return { kind: 'unknown' };
  }

  async #once(call: Call, key: string | undefined): Promise<Outcome> {
    const isDoubled = key !== undefined && this.#random.happens(DOUBLED);
    return await (isDoubled ? this.#tryTwice(call, key) : this.#try(call, key));
  }

  /** Sends two attempts at the same time, of which at most one may be applied. */
  async #tryTwice(call: Call, key: string): Promise<Outcome> {
    const tries = [this.#try(call, key), this.#try(call, key)];
    const outcomes = await Promise.all(tries);
    const done = outcomes.filter(isDone);
    const etags = done.flatMap((each) => (each.kind === 'answered' ? [each.seen.etag] : []));
    if (new Set(etags).size > 1) {
      throw new Violation(`call ${call.id} was applied twice: ETags ${etags.join(' and ')}`);
    }
    const unknown = outcomes.find(({ kind }) => kind === 'unknown');
    return done[0] ?? unknown ?? outcomes[0] ?? { kind: 'unknown' };
  }

  async #try(call: Call, key: string | undefined): Promise<Outcome> {
    const { world, edges } = this.#ports;
    const open = edges();
    if (open.length === 0) {
      await world.sleep(200);
      return { kind: 'refused', code: 'service_unavailable', reason: undefined };
    }
    const edge = this.#random.pick(open);
    const { instance, requested, ifMatch, id } = call;
    const request = {
      command: commandOf(requested, id, this.#random),
      instance,
      content: `f${id}`,
      key,
      ifMatch,
    };
    try {
      const { account: accountId } = this;
      const caller = { accountId, credential: keyDigestOf(accountId) };
      const answer = await patiently(world, edge, () => edge.answer(caller, request));
      if (answer.location !== undefined) call.instance = answer.location.slice(-21);
      return outcomeOfAnswer(answer);
    } catch (error) {
      return outcomeOfError(error);
    }
  }

  /** A UUIDv7, as the client libraries send, or a plain text. */
  #key({ id }: Call): string {
    if (this.#random.happens(0.5)) return `key-${id}`;
    const time = Math.floor(this.#ports.world.wallMs()).toString(16).padStart(12, '0');
    const rest = this.#random.whole(0, 0xfff).toString(16).padStart(3, '0');
    const tail = id.toString(16).padStart(12, '0');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${rest}-8000-${tail}`;
  }
}

/** Whether the call was applied. */
function isDone(outcome: Outcome): boolean {
  return outcome.kind === 'answered' ? !outcome.seen.isThrottled : outcome.kind === 'superseded';
}

/** Whether a retry cannot change the outcome. */
function isFinal(outcome: Outcome): boolean {
  if (outcome.kind === 'refused') return outcome.code !== 'service_unavailable';
  return outcome.kind === 'answered';
}

/** Shortens long lists in the trace. */
function shown(key: string, value: unknown): unknown {
  if (key === 'marks' && Array.isArray(value)) return value.length;
  return value instanceof Map ? value.size : value;
}
