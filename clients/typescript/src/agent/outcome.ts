import type { TurnOutcome } from './appraiser.ts';

/*
 * Classifies the error that ended a turn. Frameworks wrap the errors of providers, so the
 * classification follows the chain of causes. Errors are compared by name, because the client
 * depends on no provider's package.
 */

/** Maximum number of causes to follow. A chain can be circular. */
const CAUSES_MAX = 8;

/** HTTP statuses by which a provider refuses a call for reasons outside the agent. */
const UNAVAILABLE_STATUSES: ReadonlySet<unknown> = new Set([401, 402, 403, 408, 429]);

/** Names of errors of a stopped run, such as `AbortError` and `APIUserAbortError`. */
const ABORTED = /Abort|Cancell?ed/;

/** Names of errors of a network, such as `APIConnectionError`. */
const NETWORK = /Connection|Timeout|Network/;

/** Codes of network errors of Node.js and of `fetch`. */
const NETWORK_CODE =
  /^(?:ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOST|ENET|UND_ERR_|ERR_NETWORK)/;

/**
 * Outcome of a turn that ended with an error. `aborted`: a signal stopped the run. `unavailable`:
 * a provider answered 401, 402, 403, 408, 429 or 5xx, or the network failed. Otherwise `failed`.
 */
export function outcomeOf(error: unknown): Exclude<TurnOutcome, 'completed'> {
  let current = error;
  for (let causes = 0; causes < CAUSES_MAX && isObject(current); causes += 1) {
    const name = `${current['name']} ${current.constructor?.name}`;
    if (ABORTED.test(name)) return 'aborted';
    if (isProviderError(current) || NETWORK.test(name)) return 'unavailable';
    current = current['cause'] ?? current['lastError'];
  }
  return 'failed';
}

function isProviderError(error: Record<string, unknown>): boolean {
  const status = error['status'] ?? error['statusCode'];
  const isServerError = typeof status === 'number' && status >= 500;
  return (
    isServerError ||
    UNAVAILABLE_STATUSES.has(status) ||
    (typeof error['code'] === 'string' && NETWORK_CODE.test(error['code']))
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
