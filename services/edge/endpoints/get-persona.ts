import { endpoint, type PathId } from '#edge/endpoint';
import { listedPersona } from '#edge/endpoints/list-personas';
import { dataOf, PersonaDetail } from '#edge/schemas/answers';
import { Fault } from '#fault/fault';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import { findPersona } from '#identity/personas';

/** Ids of personas: all there are. */
const PERSONA_ID: PathId = {
  description: 'Id of a persona.',
  schema: { type: 'string', enum: PERSONA_PROFILES.map(({ id }) => id) },
  unknown: 'persona_unknown',
};

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
  response: dataOf(PersonaDetail),
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
