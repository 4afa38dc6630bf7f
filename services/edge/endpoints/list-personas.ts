import { endpoint } from '#edge/endpoint';
import { ListedPersona, listOf } from '#edge/schemas/answers';
import { PersonasQuery } from '#edge/schemas/query-parameters';
import { PERSONAS, type Persona } from '#identity/personas';

/** Source: interface 4.4. */
export const listPersonas = endpoint({
  name: 'listPersonas',
  method: 'GET',
  path: '/personas',
  tag: 'Personas',
  summary: 'List the 12 personas',
  description: 'All of them; the list has one page.',
  scope: 'read',
  query: PersonasQuery,
  response: listOf(ListedPersona),
  examples: [{ summary: 'all personas' }],
  handler: {
    kind: 'stateless',
    answer: async () => ({
      data: PERSONAS.map(listedPersona),
      pagination: { total: PERSONAS.length },
    }),
  },
});

/** A persona as the list shows it. Source: interface 2.8. */
export function listedPersona(persona: Persona) {
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
