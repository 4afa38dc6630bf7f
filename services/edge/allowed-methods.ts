import { API_PREFIX } from '#edge/api-path';
import { ENDPOINTS } from '#edge/endpoints/all';

const PATTERNS = ENDPOINTS.map(({ method, path }) => ({
  method,
  pattern: new RegExp(`^${API_PREFIX}${path.replace(':id', '[^/]+')}$`),
}));

/** The methods that a path has, for `Allow`; empty for a path that no endpoint has (decision 27). */
export function methodsOf(path: string): string[] {
  return PATTERNS.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
}
