import { Fault, toFault } from '#fault/fault';
import { type Clock, sleep } from '#platform/clock';
import type { EnginePeer, Recover } from '#routing/engine-peer';
import type { OwnerTable } from '#routing/owner-table';
import { PeerPool } from '#routing/peer-pool';
import {
  RETRY_PAUSE_MS_MAX,
  RETRY_PAUSE_MS_MIN,
  ROUTES_MS_MAX,
  ROUTES_POLL_MS,
} from '#routing/routing-bounds';
import { ofUnknownOutcome } from '#routing/unknown-outcome';
import { WaitingCalls } from '#routing/waiting-calls';
import type { EngineAnswer, EngineCall, EngineClient } from '#wire/engine-messages';
import { CALL_TIMEOUT_MS_MAX } from '#wire/wire-bounds';

/** Why a call is made again. `no_owner`: nobody is known yet whom it could be sent to. */
export type RetryReason = 'not_owner' | 'engine_unavailable' | 'shutting_down' | 'no_owner';

/** What routing needs. */
export type RoutedEngineOptions = {
  readonly routes: OwnerTable;
  readonly shardCount: number;
  /** The shard of an instance or account. On the hot path: must be cheap. */
  readonly shardOf: (id: string) => number;
  /** Opens a connection, or gives this process's own engine for its own address. */
  readonly connect: (address: string) => EnginePeer;
  readonly clock: Clock;
  /** Uniform in [0, 1), for the jitter of pauses. */
  readonly random: () => number;
  /** Hears of every further try; a try counts once. */
  readonly onRetry?: (reason: RetryReason) => void;
};

/** One call between its tries. */
type Retry = {
  readonly call: EngineCall;
  readonly shard: number;
  /** No try begins from here on, by the monotonic clock. */
  readonly endMs: number;
  pauses: number;
  hasRedirected: boolean;
  /** Whether any try so far may have happened. */
  isOutcomeUnknown: boolean;
};

/**
 * The engines of a cluster as one: every call goes to the owner of its shard, and goes again, the
 * same, while its shard is on the move, until its deadline. Source: architecture 3.5.
 *
 * A retry never advances anything twice, because the actor knows the call's id. A refusal of the
 * actor is never retried, and leaves as it came, except that it says so when an earlier try may
 * have happened.
 */
export class RoutedEngine implements EngineClient, AsyncDisposable {
  readonly #options: RoutedEngineOptions;
  readonly #peers: PeerPool;
  readonly #waiting: WaitingCalls;
  readonly #listening: Disposable;
  #isDisposed = false;

  constructor(options: RoutedEngineOptions) {
    this.#options = options;
    const { clock, connect, routes } = options;
    this.#waiting = new WaitingCalls(clock);
    this.#peers = new PeerPool({
      connect,
      clock,
      owners: () => this.#owners(),
      onOpen: (address) => this.#waiting.wakeAddress(address),
    });
    this.#listening = routes.onChange((shard) => {
      const owner = routes.ownerOf(shard);
      if (owner !== undefined) this.#peers.renew(owner);
      this.#waiting.wakeShard(shard);
    });
  }

  /**
   * Fulfils when the owner of every shard is known and connected, so that no call waits for the
   * next heartbeat; or after 3 s, because a shard without an owner must not keep the others from
   * being served.
   */
  async ready(): Promise<void> {
    const { clock } = this.#options;
    const endMs = clock.monotonicMs() + ROUTES_MS_MAX;
    while (!this.#isDisposed && !this.#isRouted() && clock.monotonicMs() < endMs) {
      await sleep(clock, ROUTES_POLL_MS);
    }
  }

  /**
   * Asks the owner. Rejects with the engine's refusals, and with `engine_unavailable` when there
   * was no owner to answer within the call's deadline, at most 10 s after the first try.
   */
  ask(call: EngineCall): EngineAnswer | Promise<EngineAnswer> {
    const { routes, shardOf } = this.#options;
    const owner = routes.ownerOf(shardOf(routingIdOf(call)));
    const isAskable = owner !== undefined && !this.#isDisposed;
    const peer = isAskable ? this.#peers.at(owner.address, owner.incarnation) : undefined;
    if (peer !== undefined) return peer.askOr(call, this.#recover);
    return this.#again(call, undefined, this.#options.clock.monotonicMs());
  }

  /** Where the owner of an actor answers, as far as is known. */
  addressOf(id: string): string | undefined {
    return this.#options.routes.ownerOf(this.#options.shardOf(id))?.address;
  }

  /**
   * Asks one engine, once; waits for the connection until the deadline, if it must. For questions
   * that have another answer when this one does not come. Throws the engine's refusals unchanged.
   */
  async askAt(address: string, call: EngineCall): Promise<EngineAnswer> {
    const { clock } = this.#options;
    const peer = this.#isDisposed ? undefined : this.#peers.at(address);
    if (peer?.isOpen === false) {
      this.#peers.watch(address);
      const leftMs = call.deadlineAtMs - clock.wallMs();
      await this.#waiting.wait(Math.max(0, leftMs), { shard: undefined, address });
    }
    if (peer?.isOpen !== true || this.#isDisposed) throw unavailable('engine_unavailable', false);
    return peer.ask(call);
  }

  /** How many calls pause before their next try, and how many connections there are. */
  get totals(): { waitingCalls: number; peers: number } {
    return { waitingCalls: this.#waiting.size, peers: this.#peers.size };
  }

  /** Ends the calls that wait, as `shutting_down`, and closes all connections. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    this.#listening[Symbol.dispose]();
    this.#waiting.wakeAll();
    await this.#peers[Symbol.asyncDispose]();
  }

  /** Whether every shard's owner is connected. Connects to all that are known. */
  #isRouted(): boolean {
    const { routes, shardCount } = this.#options;
    const owners = Array.from({ length: shardCount }, (_, shard) => routes.ownerOf(shard));
    const peers = owners.map((owner) => owner && this.#peers.at(owner.address, owner.incarnation));
    return peers.every((peer) => peer?.isOpen === true);
  }

  readonly #recover: Recover = (call, fault, askedAtMs) =>
    retryReasonOf(fault) === undefined ? undefined : this.#again(call, fault, askedAtMs);

  /** All tries after the first, which ended in `fault`, or found nobody to ask. */
  async #again(
    call: EngineCall,
    fault: Fault | undefined,
    startedMs: number,
  ): Promise<EngineAnswer> {
    const { clock, routes, shardOf, onRetry } = this.#options;
    const nowMs = clock.monotonicMs();
    const retry: Retry = {
      call,
      shard: shardOf(routingIdOf(call)),
      // By both clocks: a wall clock that steps back must not outlast the actor's memory of ids.
      endMs: Math.min(startedMs + CALL_TIMEOUT_MS_MAX, nowMs + call.deadlineAtMs - clock.wallMs()),
      pauses: 0,
      hasRedirected: false,
      isOutcomeUnknown: false,
    };
    let reason = this.#failed(retry, fault);
    for (;;) {
      await this.#pause(retry, fault);
      this.#assertTimeLeft(retry);
      onRetry?.(reason);
      const owner = routes.ownerOf(retry.shard);
      const peer = owner && this.#peers.at(owner.address, owner.incarnation);
      try {
        if (peer !== undefined) return await peer.ask(call);
        fault = undefined;
      } catch (error) {
        fault = toFault(error);
      }
      reason = this.#failed(retry, fault);
    }
  }

  /** What follows from a try that failed, or from none. Throws what must not be tried again. */
  #failed(retry: Retry, fault: Fault | undefined): RetryReason {
    if (fault === undefined) return 'no_owner';
    retry.isOutcomeUnknown ||= fault.isOutcomeUnknown;
    const reason = retryReasonOf(fault);
    if (reason === undefined) throw retry.isOutcomeUnknown ? ofUnknownOutcome(fault) : fault;
    if (fault.owner !== undefined) this.#options.routes.learn(retry.shard, fault.owner);
    return reason;
  }

  /** Follows a hint to the new owner at once, but not one after the other; else waits a little. */
  async #pause(retry: Retry, fault: Fault | undefined): Promise<void> {
    const { clock, random, routes } = this.#options;
    const named = fault?.owner?.incarnation;
    const isHinted = named !== undefined && routes.ownerOf(retry.shard)?.incarnation === named;
    if (isHinted && !retry.hasRedirected) {
      retry.hasRedirected = true;
      return;
    }
    retry.hasRedirected = false;
    const ceilingMs = Math.min(RETRY_PAUSE_MS_MAX, RETRY_PAUSE_MS_MIN * 2 ** retry.pauses);
    retry.pauses += 1;
    // Half of it is jitter: enough to spread calls, and no pause is next to none.
    const pauseMs = (ceilingMs * (1 + random())) / 2;
    const leftMs = Math.max(0, retry.endMs - clock.monotonicMs());
    const { shard } = retry;
    const address = routes.ownerOf(shard)?.address;
    if (address !== undefined) this.#peers.watch(address);
    try {
      await this.#waiting.wait(Math.min(pauseMs, leftMs), { shard, address });
    } catch (error) {
      throw retry.isOutcomeUnknown ? ofUnknownOutcome(toFault(error)) : error;
    }
  }

  #assertTimeLeft({ call, endMs, isOutcomeUnknown }: Retry): void {
    const { clock } = this.#options;
    if (this.#isDisposed) throw unavailable('shutting_down', isOutcomeUnknown);
    const isOver = clock.monotonicMs() >= endMs || clock.wallMs() >= call.deadlineAtMs;
    if (isOver) throw unavailable('engine_unavailable', isOutcomeUnknown);
  }

  *#owners(): Iterable<string> {
    const { routes, shardCount } = this.#options;
    for (let shard = 0; shard < shardCount; shard += 1) {
      const owner = routes.ownerOf(shard);
      if (owner !== undefined) yield owner.address;
    }
  }
}

/** Whose owner answers the call: the account's directory for its listing, else the instance. */
function routingIdOf({ accountId, instanceId, operation }: EngineCall): string {
  const { kind } = operation;
  const isOfAccount =
    kind === 'list' || kind === 'putListingRow' || kind === 'removeListingRow' || kind === 'peek';
  return isOfAccount ? accountId : instanceId;
}

/** Why the call may be made again; undefined: it must not be. */
function retryReasonOf({ code, reason }: Fault): RetryReason | undefined {
  if (code !== 'service_unavailable') return undefined;
  const isRetried =
    reason === 'not_owner' || reason === 'engine_unavailable' || reason === 'shutting_down';
  return isRetried ? reason : undefined;
}

function unavailable(
  reason: 'engine_unavailable' | 'shutting_down',
  isOutcomeUnknown: boolean,
): Fault {
  const options = { reason, retryAfterS: 1, isOutcomeUnknown };
  return new Fault('service_unavailable', 'no engine answered in time', options);
}
