import { createHash } from 'node:crypto';
import { ANSWER_AGE_MS, type AnswerRow } from '#storage/instance-store';
import type { ObservationInput } from '#wire/engine-messages';

/** Characters of an observation's fingerprint: 128 bits. That of a call has 64. */
const FINGERPRINT_LENGTH = 32;

/**
 * Fingerprint of an observation, whatever text its caller wrote it with: mode, signal, confidence, own
 * timestamp and context.
 */
export function fingerprintOfObservation(observation: ObservationInput): string {
  const { mode, signal, confidence, timestampMs = null, contextJson } = observation;
  const text = JSON.stringify([mode, signal, confidence, timestampMs, contextJson]);
  return createHash('sha256').update(text).digest('hex').slice(0, FINGERPRINT_LENGTH);
}

/**
 * The name of the row that a call on an instance leaves under its key. A batch's item leaves a row of the
 * same name, so that single calls and batches find each other's keys (decisions 22 and 280).
 */
export function callKeyOf(key: string): string {
  return `call:${key}`;
}

/** Whether an answer is too old to be given again. */
export function isExpired({ atMs }: AnswerRow, nowMs: number): boolean {
  return atMs < nowMs - ANSWER_AGE_MS;
}
