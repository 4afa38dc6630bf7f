import { localAnswer } from '#edge/local-answer';
import { type Operation, operation } from '#edge/operation';
import { dataOf, ListedPersona, listOf, PersonaDetail } from '#edge/schemas/answers';
import { NoQuery, PersonasQuery } from '#edge/schemas/query';
import { Fault } from '#fault/fault';
import { findPersona, PERSONAS, type Persona } from '#identity/personas';

const tag = 'Personas' as const;

/** The personas, in the order of spec 4.4. */
export const personaOperations: readonly Operation[] = [
  operation({
    name: 'listPersonas',
    method: 'GET',
    path: '/personas',
    summary: 'List the 12 personas',
    tag,
    scope: 'read',
    query: PersonasQuery,
    response: listOf(ListedPersona),
    plan: () =>
      localAnswer(() => ({ data: PERSONAS.map(listed), pagination: { total: PERSONAS.length } })),
  }),
  operation({
    name: 'getPersona',
    method: 'GET',
    path: '/personas/:id',
    summary: 'Get a persona',
    tag,
    scope: 'read',
    query: NoQuery,
    response: dataOf(PersonaDetail),
    plan: ({ id }) => localAnswer(() => ({ data: detailed(id) })),
  }),
];

function listed(persona: Persona) {
  const { id, name, archetype, description, modeProfile, coreValues } = persona;
  const { commitmentThreshold, ...style } = persona.decisionStyle;
  return {
    id,
    name,
    archetype,
    description,
    mode_profile: modeProfile,
    core_values: coreValues,
    decision_style: { ...style, commitment_threshold: commitmentThreshold },
  };
}

function detailed(id: string) {
  const persona = findPersona(id);
  if (persona === undefined) throw new Fault('not_found', 'no such persona');
  const { preferredPath, halfLifeMinutes, supportRequiredAt, cooldownRequiredAt } =
    persona.stressRecovery;
  return {
    ...listed(persona),
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
