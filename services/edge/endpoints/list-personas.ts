import { endpoint } from '#edge/endpoint';
import { listedPersona } from '#edge/listed-persona';
import { ListedPersona, listOf } from '#edge/schemas/answers';
import { PersonasQuery } from '#edge/schemas/query-parameters';
import { PERSONAS } from '#identity/personas';

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
  refusals: [],
  examples: [{ summary: 'all personas' }],
  handler: {
    kind: 'stateless',
    answer: async () => ({
      data: PERSONAS.map(listedPersona),
      pagination: { total: PERSONAS.length },
    }),
  },
});
