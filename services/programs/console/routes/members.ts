import { type EntryLink, INVITATION_MS, type Membership } from '#accounts/people';
import type { ConsolePorts } from '#console/app/ports';
import {
  type ConsoleRoute,
  callerRoute,
  InvitationBody,
  lineOf,
  RoleBody,
} from '#console/app/route';
import { done, made, shown } from '#console/app/visit';
import type { ConsoleAudit } from '#console/people/audit';
import { invitationIdOf, linkText, newLinkValue } from '#console/people/entry';
import type { LiveSessions } from '#console/people/live-sessions';
import { keysToDecide, keyViews } from '#console/routes/keys';
import { Fault, faultFor } from '#errors/fault';
import { isoTime } from '#stdlib/clock';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import type { Leaving } from '#storage/ports/people';

/** Maximum number of users that are read concurrently. */
const READS_IN_FLIGHT_MAX = 16;

type MemberParts = Pick<ConsolePorts, 'users' | 'members' | 'clock' | 'randomness' | 'keys'> & {
  readonly live: LiveSessions;
  readonly audit: ConsoleAudit;
  /** Origin that links use. */
  readonly origin: () => string;
};

/** Maximum number of invitation ids, and of key ids, in an audit line. */
const IDS_MAX = 50;

const NEEDS = { permission: 'members' } as const;

/**
 * Routes for members and open invitations in the caller's account. Other accounts are not
 * reachable.
 */
export function memberRoutes(parts: MemberParts): ConsoleRoute[] {
  const { live, members } = parts;
  const list = { method: 'GET', path: '/members', ...NEEDS } as const;
  return [
    callerRoute(live, list, async ({ caller }) => {
      const people = await members.find(caller.membership.accountId);
      const invitations = people.links.filter((link) => isOpen(link, parts.clock.wallMs()));
      return shown({
        members: await viewsOf(parts, people.members),
        invitations: await invitationViews(parts, invitations),
      });
    }),
    ...invitationRoutes(parts),
    ...membershipRoutes(parts),
  ];
}

function invitationRoutes(parts: MemberParts): ConsoleRoute[] {
  const { live, members, audit, clock, randomness, origin } = parts;
  const invite = {
    ...({ method: 'POST', path: '/members/invitations', body: InvitationBody } as const),
    ...NEEDS,
  };
  const take = { method: 'DELETE', path: '/members/invitations/:id', ...NEEDS } as const;
  return [
    callerRoute(live, invite, async ({ caller, body, visit }) => {
      const { accountId } = caller.membership;
      const people = await members.find(accountId);
      const present = await viewsOf(parts, people.members);
      if (present.some(({ email }) => email === body.email)) {
        throw faultFor('already_exists', 'a member already has this email', { field: 'email' });
      }
      const { token, digest } = newLinkValue(accountId, randomness);
      const createdAtMs = clock.wallMs();
      const times = { createdAtMs, expiresAtMs: createdAtMs + INVITATION_MS };
      const createdBy = { kind: 'user', id: caller.session.userId } as const;
      const link = { kind: 'invitation', accountId, digest, ...times, createdBy, ...body } as const;
      const target = invitationIdOf(link);
      const line = lineOf(caller, visit, 'member.invite', { target, after: body });
      await audit.around(line, () => members.addLink(link));
      return made({ ...viewOfLink(link), link: linkText(origin(), 'invitation', token) });
    }),
    callerRoute(live, take, async ({ caller, params, visit }) => {
      const { accountId } = caller.membership;
      const { links } = await members.find(accountId);
      const link = links.find((each) => invitationIdOf(each) === params['id']);
      if (link?.kind !== 'invitation') throw new Fault('not_found', 'unknown invitation');
      const { email, role } = link;
      const more = { target: invitationIdOf(link), before: { email, role } };
      const line = lineOf(caller, visit, 'member.uninvite', more);
      await audit.around(line, () => members.dropLink(accountId, link.digest));
      return done();
    }),
  ];
}

function membershipRoutes(parts: MemberParts): ConsoleRoute[] {
  const { live, members, audit } = parts;
  const change = { method: 'PATCH', path: '/members/:id', body: RoleBody, ...NEEDS } as const;
  const remove = { method: 'DELETE', path: '/members/:id', ...NEEDS } as const;
  return [
    callerRoute(live, change, async ({ caller, params, body, visit }) => {
      const { accountId } = caller.membership;
      const member = await memberOf(parts, accountId, params['id']);
      const { userId, role } = member;
      const more = { target: userId, before: { role } };
      const line = lineOf(caller, visit, 'member.role', more);
      const act = (leaving: Leaving) => members.setRole(accountId, userId, body.role, leaving);
      const left = await audit.around(
        line,
        () => leftBy(parts, member, act),
        (what) => ({ target: userId, after: { ...body, ...idsOf(what) } }),
      );
      return shown({ id: userId, role: body.role, ...left });
    }),
    callerRoute(live, remove, async ({ caller, params, visit }) => {
      const { accountId } = caller.membership;
      const member = await memberOf(parts, accountId, params['id']);
      const { userId, role } = member;
      const line = lineOf(caller, visit, 'member.remove', { target: userId, before: { role } });
      const act = (leaving: Leaving) => members.remove(accountId, userId, leaving);
      const left = await audit.around(
        line,
        () => leftBy(parts, member, act),
        (what) => ({ target: userId, after: idsOf(what) }),
      );
      return shown(left);
    }),
  ];
}

/** Consequences when a member leaves or changes role. */
type Left = {
  readonly cancelled_invitations: readonly { readonly id: string }[];
  /** Keys that an owner must review. Each key works until it is revoked. */
  readonly keys: readonly { readonly id: string }[];
};

/** Changes a membership. Returns the cancelled invitations and the keys to review. */
async function leftBy(
  parts: MemberParts,
  { accountId, userId }: Membership,
  change: (leaving: Leaving) => Promise<unknown>,
): Promise<Left> {
  const { users, members, keys, clock, live } = parts;
  const email = (await users.find(userId))?.user.email;
  const before = await members.find(accountId);
  await change(email === undefined ? {} : { email });
  live.closeStreams(accountId, userId);
  const after = await members.find(accountId);
  const kept = new Set(after.links.map(({ digest }) => digest));
  const nowMs = clock.wallMs();
  const gone = before.links.filter((link) => isOpen(link, nowMs) && !kept.has(link.digest));
  const found = keysToDecide(await keys.listKeys(accountId), userId, after.members, nowMs);
  return {
    cancelled_invitations: await invitationViews(parts, gone),
    keys: await keyViews(parts, accountId, found),
  };
}

/** Returns the ids for the audit trail, at most `IDS_MAX` of each kind. */
function idsOf({ cancelled_invitations, keys }: Left) {
  const some = (views: readonly { readonly id: string }[]) =>
    views.slice(0, IDS_MAX).map(({ id }) => id);
  return { cancelled_invitations: some(cancelled_invitations), keys_to_decide: some(keys) };
}

async function memberOf(
  { members }: MemberParts,
  accountId: string,
  userId: string | undefined,
): Promise<Membership> {
  const people = await members.find(accountId);
  const member = people.members.find((each) => each.userId === userId);
  if (member === undefined) throw new Fault('not_found', 'unknown member');
  return member;
}

async function viewsOf({ users }: MemberParts, members: readonly Membership[]) {
  const views: { id: string; email: string; name: string; role: string; joined_at: string }[] = [];
  await forEachConcurrently(members, READS_IN_FLIGHT_MAX, async ({ userId, role, createdAtMs }) => {
    const stored = await users.find(userId);
    if (stored === undefined) return;
    const { email, name } = stored.user;
    views.push({ id: userId, email, name, role, joined_at: isoTime(createdAtMs) });
  });
  return views.toSorted((a, b) => (a.email < b.email ? -1 : 1));
}

function isOpen(link: EntryLink, nowMs: number): link is EntryLink & { kind: 'invitation' } {
  return link.kind === 'invitation' && nowMs < link.expiresAtMs;
}

function viewOfLink(link: EntryLink & { kind: 'invitation' }) {
  const { email, role, expiresAtMs } = link;
  return { id: invitationIdOf(link), email, role, expires_at: isoTime(expiresAtMs) };
}

/**
 * Invitations with the inviting member's name. The name is absent if the member is not recorded or
 * no longer exists.
 */
async function invitationViews({ users }: MemberParts, links: readonly EntryLink[]) {
  const open = links.filter((link) => link.kind === 'invitation');
  return await Promise.all(
    open.map(async (link) => {
      const maker = link.createdBy && (await users.find(link.createdBy.id))?.user;
      return { ...viewOfLink(link), ...(maker && { created_by: maker.name }) };
    }),
  );
}
