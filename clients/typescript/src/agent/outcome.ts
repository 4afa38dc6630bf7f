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

/** Names of errors of a stopped run. */
const ABORTED = /^(?:AbortError|APIUserAbortError|ModelAbortError|CancelledError|CanceledError)$/;

/** Names of errors of a network, such as `APIConnectionError` and `ConnectTimeoutError`. */
const NETWORK =
  /^(?:API)?(?:Connection|Network|(?:Connect(?:ion)?|Headers|Body|Read)?Timeout)Error$/;

/** Codes of network errors, from Node.js or `fetch`. */
const NETWORK_CODE =
  /^(?:ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOST|ENET|UND_ERR_|ERR_NETWORK)/;

/**
 * Outcome of a turn that ended with an error. `aborted`: a signal stopped the run. `unavailable`:
 * a provider answered 401, 402, 403, 408, 429 or 5xx, or the network failed. Otherwise `failed`.
 */
export function outcomeOf(error: unknown): Exclude<TurnOutcome, 'completed'> {
  let current = error;
  for (let causes = 0; causes < CAUSES_MAX && isObject(current); causes += 1) {
    const names = [`${current['name']}`, `${current.constructor?.name}`];
    if (names.some((name) => ABORTED.test(name))) return 'aborted';
    if (isProviderError(current) || names.some((name) => NETWORK.test(name))) return 'unavailable';
    const errors = current['errors'];
    current = current['cause'] ?? current['lastError'] ?? (Array.isArray(errors) && errors.at(-1));
  }
  return 'failed';
}

function isProviderError(error: Record<string, unknown>): boolean {
  const [code, metadata] = [error['code'], error['$metadata']];
  const status =
    error['status'] ??
    error['statusCode'] ??
    (isObject(metadata) ? metadata['httpStatusCode'] : undefined) ??
    code;
  const isServerError = typeof status === 'number' && status >= 500 && status < 600;
  const isNetwork = typeof code === 'string' && NETWORK_CODE.test(code);
  return isServerError || isNetwork || UNAVAILABLE_STATUSES.has(status);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
