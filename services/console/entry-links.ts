import { digestOf, isAccountId } from '#accounts/api-key';
import { type EntryLink, hasOwner, isUsable, type People, SETUP_LINK_MS } from '#accounts/people';
import { VALUE_LENGTH } from '#console/live-sessions';
import { faultFor } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { Randomness } from '#platform/randomness';
import type { MemberStore } from '#storage/member-store';

/** The value of a link, which is shown once, and what is stored of it. */
type NewValue = { readonly token: string; readonly digest: string };

const TOKEN = /^(?<accountId>[0-9A-Za-z]{12})\.[0-9A-Za-z]{43}$/;

/** A new value for a link into an account: its id and 256 random bits. Source: decision 245. */
export function newLinkValue(accountId: string, randomness: Randomness): NewValue {
  const token = `${accountId}.${randomness.base62(VALUE_LENGTH)}`;
  return { token, digest: digestOf(token) };
}

/** Where a link leads. Its value stands behind the `#`, which browsers send to no server. */
export function linkText(origin: string, kind: EntryLink['kind'], token: string): string {
  return `${origin}/#/${kind === 'setup' ? 'set-up' : 'invitation'}/${token}`;
}

/** The link that a value is of. Throws 404, the same whatever is wrong with it. */
export async function linkOf(
  { members, clock }: { readonly members: MemberStore; readonly clock: Clock },
  token: string,
  kind: EntryLink['kind'],
): Promise<EntryLink> {
  const { accountId } = TOKEN.exec(token)?.groups ?? {};
  const people = accountId === undefined ? undefined : await members.find(accountId);
  const link = people && usableIn(people, token, kind, clock.wallMs());
  if (link !== undefined) return link;
  throw faultFor('link_not_usable', 'this link was used, was taken back, or is too old');
}

function usableIn(
  people: People,
  token: string,
  kind: EntryLink['kind'],
  nowMs: number,
): EntryLink | undefined {
  const digest = digestOf(token);
  const link = people.links.find((each) => each.digest === digest && each.kind === kind);
  return link !== undefined && isUsable(link, people, nowMs) ? link : undefined;
}

/** Characters of the name under which an invitation is shown; its digest is no secret. */
const INVITATION_ID_LENGTH = 16;

/** The name of an invitation, which leads to no one's account. */
export function invitationIdOf({ digest }: EntryLink): string {
  return `inv_${digest.slice(0, INVITATION_ID_LENGTH)}`;
}

/** What making a set-up link needs. */
export type SetUpPorts = {
  readonly members: MemberStore;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly randomness: Randomness;
};

/**
 * Makes a link by which an owner enters an account that has none, once and within 24 h; an earlier one is
 * worth nothing any more. Undefined where the account has an owner, who invites others.
 */
export async function makeSetUpLink(
  { members, clock, randomness }: SetUpPorts,
  accountId: string,
  origin: string,
): Promise<string | undefined> {
  if (!isAccountId(accountId)) throw new RangeError(`"${accountId}" is no id of an account`);
  const people = await members.find(accountId);
  if (hasOwner(people)) return undefined;
  const { token, digest } = newLinkValue(accountId, randomness);
  const createdAtMs = clock.wallMs();
  const expiresAtMs = createdAtMs + SETUP_LINK_MS;
  await members.addLink({ kind: 'setup', accountId, digest, createdAtMs, expiresAtMs });
  return linkText(origin, 'setup', token);
}
