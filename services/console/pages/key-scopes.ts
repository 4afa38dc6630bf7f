import { inWords } from '#pages/format';
import { may } from '#pages/session';

/** Every scope that a key may have, in the spelling of the service, with the permission of each word. */
const PERMISSION_OF = {
  full: 'instances.write',
  read: 'instances.read',
  audit: 'audit.read',
  billing: 'billing',
} as const;

const TEXT_OF: Readonly<Record<string, string>> = {
  full: 'Full',
  read: 'Read only',
  audit: 'Audit trail',
  billing: 'Billing',
};

const SCOPES = [
  ...['full', 'read', 'audit', 'billing', 'full audit', 'full billing', 'full audit billing'],
  ...['read audit', 'read billing', 'read audit billing', 'audit billing'],
];

/** A scope as people read it: "Full, audit trail". */
export function scopeText(scope: string): string {
  const words = scope.split(' ').map((word) => TEXT_OF[word] ?? inWords(word));
  return words.map((word, at) => (at === 0 ? word : word.toLowerCase())).join(', ');
}

/** Whether the person who is signed in has every right of a scope, and so may give it. */
export function mayGive(scope: string): boolean {
  return scope.split(' ').every((word) => {
    const permission = PERMISSION_OF[word as keyof typeof PERMISSION_OF];
    return permission !== undefined && may(permission);
  });
}

/** The scopes that the person who is signed in may give, each with its text. */
export function scopeChoices(): (readonly [value: string, text: string])[] {
  return SCOPES.filter(mayGive).map((scope) => [scope, scopeText(scope)] as const);
}
