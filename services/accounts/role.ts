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
