/**
 * Member that contains the caller's own content. A position inside this member is reported by the
 * member's name only.
 */
const CONTEXT = 'context';

/**
 * Path to the first lone surrogate in a string or key of a JSON value, for example
 * `observations[3].context`. Undefined if there is none. Languages other than JavaScript cannot
 * decode such text. Separate from the edge's JSON parser, because the rule does not depend on HTTP.
 */
export function illFormedPlace(value: unknown, path = ''): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : path;
  if (typeof value !== 'object' || value === null) return undefined;
  const isList = Array.isArray(value);
  for (const [key, item] of Object.entries(value)) {
    // The refusal must not repeat the broken key.
    const place = placeOf(path, key.toWellFormed(), isList);
    if (!key.isWellFormed()) return place;
    const found = illFormedPlace(item, place);
    if (found !== undefined) return found;
  }
  return undefined;
}

function placeOf(path: string, key: string, isList: boolean): string {
  if (path === CONTEXT || path.endsWith(`.${CONTEXT}`)) return path;
  if (isList) return `${path}[${key}]`;
  return path === '' ? key : `${path}.${key}`;
}
