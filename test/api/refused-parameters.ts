import type { Test } from 'uvu';
import { assertRefused } from '#test/support/scene';

type Answer = Parameters<typeof assertRefused>[0];

/** Queries that a listing refuses. */
type RefusedQueries = {
  /** The name of the parameter that is at fault, by query. */
  readonly wrong: Readonly<Record<string, string>>;
  /** A parameter that the listing does not know, with a value. */
  readonly unknown: string;
};

/** Tests that a listing refuses queries and names the parameter; `get` asks with a query. */
export function refusesParameters(
  refused: Test,
  get: (query: string) => Promise<Answer>,
  { wrong, unknown }: RefusedQueries,
): void {
  for (const [query, field] of Object.entries(wrong)) {
    refused(`?${query} is answered 400 with the parameter`, async () => {
      const details = { field, reason: 'invalid_parameter' };
      assertRefused(await get(`?${query}`), 400, 'invalid_request', details);
    });
  }

  refused('an unknown parameter is answered 400 with its name', async () => {
    const [field = ''] = unknown.split('=');
    const details = { field, reason: 'unknown_parameter' };
    assertRefused(await get(`?${unknown}`), 400, 'invalid_request', details);
  });
}
