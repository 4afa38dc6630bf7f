import type { Test } from 'uvu';
import { assertRefused } from '#test/support/calls/scene';

type Answer = Parameters<typeof assertRefused>[0];

/** Queries that a listing refuses. */
type RefusedQueries = {
  /** Maximum items per page. */
  readonly limitMax: number;
  /** Queries whose first parameter is wrong, besides the queries that every listing refuses. */
  readonly wrong: readonly string[];
  /** An unknown parameter with a value. */
  readonly unknown: string;
};

/** Limits and offsets that no listing accepts. */
const WRONG_ANYWHERE = ['limit=0', 'limit=-1', 'limit=1.5', 'limit=1e1', 'limit=', 'offset=-1'];

/** Adds tests that a listing refuses queries and names the parameter. `get` sends a query. */
export function refusesParameters(
  refused: Test,
  get: (query: string) => Promise<Answer>,
  { limitMax, wrong, unknown }: RefusedQueries,
): void {
  for (const query of [...WRONG_ANYWHERE, `limit=${limitMax + 1}`, ...wrong]) {
    refused(`such as ?${query} is answered 400 with the parameter’s name`, async () => {
      const [field] = query.split('=');
      const details = { field, reason: 'invalid_parameter' };
      assertRefused(await get(`?${query}`), 400, 'invalid_request', details);
    });
  }

  refused('with an unknown parameter is answered 400 with the parameter’s name', async () => {
    const [field = ''] = unknown.split('=');
    const details = { field, reason: 'unknown_parameter' };
    assertRefused(await get(`?${unknown}`), 400, 'invalid_request', details);
  });
}
