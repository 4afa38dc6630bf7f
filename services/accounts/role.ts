import { type KeyRight, type KeyScope, rightsOf } from '#accounts/key-scope';

/** What a member of an account may be; an account has one owner at least. Source: decision 245. */
export const ROLES = ['owner', 'developer', 'billing', 'viewer'] as const;

/** One of them. */
export type Role = (typeof ROLES)[number];

/** What can be allowed to a member, one word for each part of the console. */
export type Permission =
  | 'keys.read'
  | 'keys.write'
  | 'instances.read'
  | 'instances.write'
  | 'usage.read'
  | 'billing'
  | 'members'
  | 'audit.read';

const ALLOWED: Readonly<Record<Role, readonly Permission[]>> = {
  owner: [
    'keys.read',
    'keys.write',
    'instances.read',
    'instances.write',
    'usage.read',
    'billing',
    'members',
    'audit.read',
  ],
  developer: ['keys.read', 'keys.write', 'instances.read', 'instances.write', 'usage.read'],
  billing: ['usage.read', 'billing'],
  viewer: ['keys.read', 'instances.read', 'usage.read'],
};

/** All that a role allows. Source: the table of decision 245. */
export function permissionsOf(role: Role): readonly Permission[] {
  return ALLOWED[role];
}

/** Whether a role allows something. */
export function mayDo(role: Role, permission: Permission): boolean {
  return ALLOWED[role].includes(permission);
}

/** The permission that stands behind each right of a key. */
const BEHIND: Readonly<Record<KeyRight, Permission>> = {
  full: 'instances.write',
  read: 'instances.read',
  audit: 'audit.read',
  billing: 'billing',
};

/**
 * Rights of `scope` that a role does not have: nobody gives them to a key, nor to those who hold one.
 * Source: decision 310.
 */
export function rightsBeyond(role: Role, scope: KeyScope): KeyRight[] {
  return rightsOf(scope).filter((right) => !mayDo(role, BEHIND[right]));
}
