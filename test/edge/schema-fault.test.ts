import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { z } from 'zod';
import { Batch, Observation } from '#edge/endpoints/observations';
import { CreateInstance, ListQuery } from '#edge/schemas/instance';
import { bodyFault, queryFault } from '#edge/serve/request-plan';

function faultOf(schema: z.ZodType, value: unknown, make = bodyFault) {
  const { error } = schema.safeParse(value, { reportInput: true });
  if (error === undefined) throw new Error('the schema accepts the value');
  const { httpStatus, code, field, reason } = make(error);
  return [httpStatus, code, field, reason];
}

const GOOD = { mode_target: 'ORDER', signal_strength: 0.5 };
const BODIES: [schema: z.ZodType, value: unknown, field: string | undefined, reason: string][] = [
  [Observation, [], undefined, 'wrong_type'],
  [Observation, null, undefined, 'wrong_type'],
  [Observation, 'text', undefined, 'wrong_type'],
  [Observation, {}, 'mode_target', 'missing_field'],
  [Observation, { ...GOOD, mode_target: 'order' }, 'mode_target', 'unknown_value'],
  [Observation, { ...GOOD, signal_strength: 1.1 }, 'signal_strength', 'out_of_range'],
  [Observation, { ...GOOD, signal_strength: '1' }, 'signal_strength', 'wrong_type'],
  [Observation, { ...GOOD, signal_strength: Number.NaN }, 'signal_strength', 'out_of_range'],
  [Observation, { ...GOOD, confidence: null }, 'confidence', 'wrong_type'],
  [Observation, { ...GOOD, context: [] }, 'context', 'wrong_type'],
  [Observation, { ...GOOD, timestamp: 'now' }, 'timestamp', 'invalid_timestamp'],
  [Observation, { ...GOOD, extra: 1 }, 'extra', 'unknown_field'],
  [Batch, { observations: [] }, 'observations', 'too_short'],
  [Batch, { observations: [GOOD, {}] }, 'observations[1].mode_target', 'missing_field'],
  [Batch, { observations: [{ ...GOOD, x: 1 }] }, 'observations[0].x', 'unknown_field'],
  [CreateInstance, { name: '' }, 'name', 'too_short'],
  [CreateInstance, { name: 'x'.repeat(101) }, 'name', 'too_long'],
  [
    CreateInstance,
    { name: 'a', initial_config: { mode_strengths: { order: 2 } } },
    'initial_config.mode_strengths.order',
    'out_of_range',
  ],
];

const bodies = suite('a body that breaks a rule');

for (const [schema, value, field, reason] of BODIES) {
  bodies(
    `is refused with 422, ${reason} at ${field ?? 'the body'}: ${JSON.stringify(value).slice(0, 60)}`,
    () => {
      assert.equal(faultOf(schema, value), [422, 'invalid_request', field, reason]);
    },
  );
}

const queries = suite('a query that breaks a rule');

queries('is refused with 400 and the name of the parameter', () => {
  for (const [query, field, reason] of [
    [{ limit: '0' }, 'limit', 'invalid_parameter'],
    [{ limit: ['1', '2'] }, 'limit', 'invalid_parameter'],
    [{ sort: 'id' }, 'sort', 'invalid_parameter'],
    [{ what: '1' }, 'what', 'unknown_parameter'],
  ] as const) {
    assert.equal(faultOf(ListQuery, query, queryFault), [400, 'invalid_request', field, reason]);
  }
});

for (const each of [bodies, queries]) each.run();
