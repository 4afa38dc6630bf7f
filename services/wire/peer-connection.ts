import type { FrameClient, RecoverCall } from '#wire/frame-client';

/** What may be said about one call. */
export type AskOptions = {
  /** Gives the call up. */
  readonly signal?: AbortSignal;
  /** How long the answer may take, in milliseconds, if that is less than the call has anyway. */
  readonly timeoutMs?: number;
};

/** A service in another process. */
export interface PeerConnection<Call, Answer> extends AsyncDisposable {
  /** Asks; never waits for a connection. Throws the service's faults unchanged. */
  ask(call: Call, options?: AskOptions): Promise<Answer>;
  /** As `ask`; `recover` takes over what fails, at no cost for what does not. */
  askOr(call: Call, recover: RecoverCall<Call, Answer>): Promise<Answer>;
  /** Whether the service is connected, as far as is known. */
  readonly isOpen: boolean;
  /** Settles when the service is connected. */
  ready(): Promise<void>;
}

/** The service that `client` speaks to. `timeoutMsOf` says how long a call has, in milliseconds. */
export function peerConnection<Call, Answer, Reply extends { readonly id: number }>(
  client: FrameClient<Call, Answer, Reply>,
  timeoutMsOf: (call: Call) => number,
): PeerConnection<Call, Answer> {
  return {
    ask(call, options) {
      const timeoutMsMax = options?.timeoutMs ?? Number.POSITIVE_INFINITY;
      return client.ask(call, Math.min(timeoutMsMax, timeoutMsOf(call)), options?.signal);
    },
    askOr: (call, recover) => client.ask(call, timeoutMsOf(call), undefined, recover),
    get isOpen() {
      return client.isOpen;
    },
    ready: () => client.ready(),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}
