/** Member whose content belongs to the caller: a place within it is named by the member alone. */
const CONTEXT = 'context';

/**
 * Where a JSON value first has half a surrogate pair, in a string or a key: `observations[3].context`.
 * Undefined if there is none. Readers outside JavaScript cannot decode such text.
 */
export function illFormedPlace(value: unknown, path = ''): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : path;
  if (typeof value !== 'object' || value === null) return undefined;
  const isList = Array.isArray(value);
  for (const [key, item] of Object.entries(value)) {
    // A broken key must not come back in the refusal.
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
