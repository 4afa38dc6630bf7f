import { digestOf } from '#accounts/api-key';
import type { User } from '#accounts/user';
import type { Visit } from '#console/visit';

/** The digest of the cookie of a browser that has signed in as this user; undefined: it has not. */
export function deviceDigestOf(user: User | undefined, { shown }: Visit): string | undefined {
  if (shown.device === undefined) return undefined;
  const digest = digestOf(shown.device);
  return user?.deviceDigests.includes(digest) ? digest : undefined;
}
