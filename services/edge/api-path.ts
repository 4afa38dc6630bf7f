/** Where the API begins. Source: interface 9. */
export const API_PREFIX = '/v1';

/** The API's first part of a path, without its slash. */
const FIRST_PART = API_PREFIX.slice(1);

/** Scheme and authority of a target in absolute form (RFC 9112, 3.2.2). */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i;

const ESCAPED = /%([0-9a-f]{2})/gi;

/** Whether a request's target begins as every path of the API does. */
export function isApiPath(target: string): boolean {
  if (!target.startsWith(API_PREFIX)) return false;
  const next = target.charAt(API_PREFIX.length);
  return next === '' || next === '/' || next === '?' || next === '#';
}

/**
 * Whether a target means the API, however it is bent: in absolute form, with doubled slashes, dots,
 * escapes that may not even be decodable, backslashes or other case. Most of these lead nowhere,
 * but their senders are refused as the API refuses.
 */
export function meansApi(target: string): boolean {
  if (isApiPath(target)) return true;
  const [path = ''] = target.replace(ORIGIN, '').split(/[?#]/, 1);
  const plain = path.replace(ESCAPED, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  const parts: string[] = [];
  for (const part of plain.split(/[/\\]/)) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  const [first = ''] = parts[0]?.split(';', 1) ?? [];
  return first.trim().toLowerCase() === FIRST_PART;
}

/** What calls of a route are counted under: its path, of the API without the prefix, with `:id` in it. */
export function countedRoute(route: string): string {
  return isApiPath(route) ? route.slice(API_PREFIX.length) : route;
}

/** The path of a URL as the router reads it: without origin, query and escapes. */
export function plainPathOf(url: string): string {
  const full = url.startsWith('/') ? url : (URL.parse(url)?.pathname ?? url);
  const [path = ''] = full.split(/[?#]/, 1);
  // The router has refused what cannot be decoded before it gets here.
  return path.includes('%') ? decodeURI(path) : path;
}
