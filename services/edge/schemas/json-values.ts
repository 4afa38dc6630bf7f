import { z } from 'zod';
import { ContextSource } from '#edge/context-source';
import { parseTimestamp, RFC_3339 } from '#edge/timestamp';
import type { FaultReason } from '#fault/error-reasons';

/** Serialized size of a context. */
const CONTEXT_BYTES_MAX = 8 * 1_024;

/** Nesting of a context, its own braces counted. */
const CONTEXT_DEPTH_MAX = 16;

/** A number in [0, 1]: signal, confidence, energy, mode strengths. Source: interface 8.4. */
export const Unit = z.number().min(0).max(1);

/** Text of at most `max` code points, none of them half a surrogate pair. */
export const textOf = (min: number, max: number) =>
  z
    .string()
    .check((check) => {
      const refuse = (reason: FaultReason, message: string) =>
        check.issues.push({ code: 'custom', input: check.value, params: { reason }, message });
      if (!check.value.isWellFormed()) refuse('invalid_text', 'has half a surrogate pair');
      else if (check.value.length < min) refuse('too_short', `at least ${min} characters`);
      else if (isLonger(check.value, max)) refuse('too_long', `at most ${max} characters`);
    })
    .meta({ minLength: min, maxLength: max });

/** Counts code points only where code units leave it open. */
function isLonger(text: string, max: number): boolean {
  return text.length > max && (text.length > 2 * max || [...text].length > max);
}

/** Arbitrary metadata, as JSON text: stored and given back, never interpreted. Source: interface 2.7. */
export const ContextJson = z
  .custom<ContextSource>((value) => value instanceof ContextSource, {
    message: 'must be an object',
  })
  .meta({
    type: 'object',
    propertyNames: { not: { const: '__proto__' } },
    additionalProperties: true,
    description:
      `Arbitrary metadata, up to ${CONTEXT_BYTES_MAX} bytes of JSON and ${CONTEXT_DEPTH_MAX} levels, ` +
      'its own included. No key at any level is `__proto__`, nor `prototype` within `constructor`.',
  })
  .transform((context, check) => {
    const refuse = (reason: FaultReason, message: string) =>
      check.issues.push({ code: 'custom', input: context, params: { reason }, message });
    const { value, json } = context;
    const flaw = flawOf(value, CONTEXT_DEPTH_MAX);
    if (flaw === 'too_deep') refuse(flaw, `at most ${CONTEXT_DEPTH_MAX} levels deep`);
    if (flaw === 'out_of_range') refuse(flaw, 'has a number that is not finite');
    const isTooLong =
      json.length > CONTEXT_BYTES_MAX || Buffer.byteLength(json) > CONTEXT_BYTES_MAX;
    if (isTooLong) refuse('too_long', `at most ${CONTEXT_BYTES_MAX} bytes of JSON`);
    return json;
  });

function flawOf(value: unknown, depthLeft: number): 'too_deep' | 'out_of_range' | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'out_of_range';
  if (typeof value !== 'object' || value === null) return undefined;
  if (depthLeft === 0) return 'too_deep';
  for (const item of Object.values(value)) {
    const flaw = flawOf(item, depthLeft - 1);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
}

/** An observation's time as Unix milliseconds. Source: decision 8. */
export const TimestampMs = z
  .string()
  .meta({
    format: 'date-time',
    pattern: RFC_3339.source,
    maxLength: 35,
    examples: ['2026-01-15T12:00:00Z'],
  })
  .transform((text, check) => {
    const timeMs = parseTimestamp(text);
    const refuse = (reason: FaultReason, message: string) =>
      check.issues.push({ code: 'custom', input: text, params: { reason }, message });
    if (timeMs === undefined) refuse('invalid_timestamp', 'must be RFC 3339 with an offset');
    else if (timeMs < 0) refuse('invalid_timestamp', 'must not lie before 1970');
    return timeMs ?? 0;
  });
