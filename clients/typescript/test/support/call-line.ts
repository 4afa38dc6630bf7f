import { createHash } from 'node:crypto';
import { ApiError, type FleetResult, IdentityEngineError } from '../../src/identity-engine.ts';
import type { Traffic } from './recorded-wire.ts';

/** An observation in the call log. */
export type SentObservation = {
  readonly mark: string;
  /** Index of the mode in the driver's `MODES`. */
  readonly mode: number;
  readonly signal: number;
  readonly confidence: number;
  readonly timestampMs: number;
};

/** The requested call. */
export type Requested = { readonly kind: string } & Readonly<Record<string, unknown>>;

/** Outcome of a call. The service's `test/chaos/load/call-log` defines the kinds. */
export type Outcome = { readonly kind: string } & Readonly<Record<string, unknown>>;

type Line = {
  readonly id: number;
  readonly requested: Requested;
  readonly instance: string;
  readonly traffic: Traffic | undefined;
  readonly outcome: Outcome;
};

/** Writes a finished call as a line of JSON to standard output. */
export function writeLine({ id, requested, instance, traffic, outcome }: Line): void {
  const endMs = performance.now();
  const { startMs = endMs, attempts: tries = 0, key } = traffic ?? {};
  const call = { id, requested, instance, key, dueMs: startMs, startMs, endMs, tries, outcome };
  process.stdout.write(`${JSON.stringify(call)}\n`);
}

/** Returns the outcome to log for a result. */
export function outcomeOfResult(
  result: { readonly etag: string | undefined; readonly throttled?: unknown },
  traffic: Traffic | undefined,
): Outcome {
  const etag = result.etag ?? '';
  if (result.throttled !== undefined) return { kind: 'throttled', etag };
  const hash = createHash('sha256').update(traffic?.text ?? '');
  return { kind: 'acknowledged', etag, bodyHash: hash.digest('base64url').slice(0, 22) };
}

/** Returns the outcome to log for a result of a fleet call, which has no ETag. */
export function outcomeOfFleetResult({ status, refusal, http_status }: FleetResult): Outcome {
  switch (status) {
    case 'applied':
    case 'replayed':
      return { kind: 'superseded' };
    case 'throttled':
      return { kind: 'throttled', etag: '' };
    case 'unknown':
      return { kind: 'unknown', why: refusal?.message ?? '' };
    default:
      return { kind: 'refused', status: http_status ?? 0, reason: refusal?.error ?? status };
  }
}

/** Returns the outcome to log for an error of the client. Rethrows all other errors. */
export function outcomeOfError(error: unknown): Outcome {
  if (!(error instanceof IdentityEngineError)) throw error;
  const { mayHaveHappened } = error as { mayHaveHappened?: boolean };
  if (mayHaveHappened !== false) return { kind: 'unknown', why: `${error.name}: ${error.message}` };
  if (!(error instanceof ApiError)) return { kind: 'refused', status: 0, reason: error.name };
  return { kind: 'refused', status: error.status, reason: error.reason ?? error.code };
}
