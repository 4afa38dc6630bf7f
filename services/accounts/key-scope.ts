/**
 * Scopes of a key: one or more words in this order, with spaces between them, as the `scope` of OAuth
 * (RFC 6749, 3.3). `full` contains `read`. Source: decisions 41 and 310.
 */
export const KEY_SCOPES = [
  'full',
  'read',
  'audit',
  'billing',
  'full audit',
  'full billing',
  'full audit billing',
  'read audit',
  'read billing',
  'read audit billing',
  'audit billing',
] as const;

/** One of them. A key that a release made which had no others is `full` or `read`. */
export type KeyScope = (typeof KEY_SCOPES)[number];

/** One word of a scope. */
export type KeyRight = 'full' | 'read' | 'audit' | 'billing';

/** The right that a call needs; `any`: every key may make the call. */
export type NeededRight = KeyRight | 'any';

/** The scope of a key that is made for the person who runs the service: all rights. */
export const WHOLE_SCOPE: KeyScope = 'full audit billing';

const RIGHTS: readonly KeyRight[] = ['full', 'read', 'audit', 'billing'];

/** Scopes that contain each right, so that a check of a call is one look-up. */
const SCOPES_WITH: ReadonlyMap<KeyRight, ReadonlySet<string>> = new Map(
  RIGHTS.map((right) => [
    right,
    new Set<string>(KEY_SCOPES.filter((scope) => grants(rightsOf(scope), right))),
  ]),
);

/** The words of a scope. */
export function rightsOf(scope: KeyScope): KeyRight[] {
  return scope.split(' ') as KeyRight[];
}

/** Whether a key with this scope may make a call that needs `needed`. Runs once in every call. */
export function isScopeEnough(scope: KeyScope, needed: NeededRight): boolean {
  return needed === 'any' || scope === needed || SCOPES_WITH.get(needed)?.has(scope) === true;
}

/** The scope with these words, in whatever order; undefined: there is none. */
export function scopeOf(words: readonly string[]): KeyScope | undefined {
  const text = RIGHTS.filter((right) => words.includes(right)).join(' ');
  const isKnown = words.every((word) => (RIGHTS as readonly string[]).includes(word));
  return isKnown ? KEY_SCOPES.find((scope) => scope === text) : undefined;
}

function grants(rights: readonly KeyRight[], right: KeyRight): boolean {
  return rights.includes(right) || (right === 'read' && rights.includes('full'));
}
