import type { Operation } from '#edge/operation';
import { engineOperations } from '#edge/routes/engine';
import { instanceOperations } from '#edge/routes/instances';
import { personaOperations } from '#edge/routes/personas';
import { testOperations } from '#edge/routes/test';

/** Where the API begins. Source: spec 9. */
export const API_PREFIX = '/v1';

/** All 16 endpoints, in the order of spec 4. */
export const OPERATIONS: readonly Operation[] = [
  ...instanceOperations,
  ...engineOperations,
  ...testOperations,
  ...personaOperations,
];

const PATTERNS = OPERATIONS.map(({ method, path }) => ({
  method,
  pattern: new RegExp(`^${API_PREFIX}${path.replace(':id', '[^/]+')}$`),
}));

/** The methods that a path has, for `Allow`; empty for a path that is none of ours (decision 27). */
export function methodsOf(path: string): string[] {
  return PATTERNS.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
}
