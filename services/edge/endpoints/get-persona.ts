import { endpoint } from '#edge/endpoint';
import { listedPersona } from '#edge/listed-persona';
import { PERSONA_ID } from '#edge/path-ids';
import { dataOf, PersonaDetail } from '#edge/schemas/answers';
import { NoQuery } from '#edge/schemas/query-parameters';
import { Fault } from '#fault/fault';
import { findPersona } from '#identity/personas';

/** Source: interface 4.4. */
export const getPersona = endpoint({
  name: 'getPersona',
  method: 'GET',
  path: '/personas/:id',
  pathId: PERSONA_ID,
  tag: 'Personas',
  summary: 'Get a persona',
  description: '`mode_profile` has the keys of `mode_strengths`, so the two compare key by key.',
  scope: 'read',
  query: NoQuery,
  response: dataOf(PersonaDetail),
  refusals: [],
  examples: [{ summary: 'a persona', id: 'persona_analytical' }],
  handler: { kind: 'stateless', answer: async ({ id }) => ({ data: detailed(id) }) },
});

function detailed(id: string) {
  const persona = findPersona(id);
  if (persona === undefined) throw new Fault('not_found', 'no such persona');
  const { preferredPath, halfLifeMinutes, supportRequiredAt, cooldownRequiredAt } =
    persona.stressRecovery;
  return {
    ...listedPersona(persona),
    long_description: persona.longDescription,
    preferred_actions: persona.preferredActions,
    stress_recovery: {
      preferred_path: preferredPath,
      half_life_minutes: halfLifeMinutes,
      support_required_at: supportRequiredAt,
      cooldown_required_at: cooldownRequiredAt,
    },
  };
}
