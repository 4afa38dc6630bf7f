import { type EntryLink, INVITATION_MS, type Membership } from '#accounts/people';
import { done, made, shown } from '#console/answer';
import { lineOf } from '#console/caller-line';
import type { ConsoleAudit } from '#console/console-audit';
import type { ConsolePorts } from '#console/console-ports';
import { invitationIdOf, linkText, newLinkValue } from '#console/entry-links';
import type { LiveSessions } from '#console/live-sessions';
import { type ConsoleRoute, callerRoute } from '#console/route';
import { InvitationBody, RoleBody } from '#console/schemas';
import { Fault, faultFor } from '#fault/fault';
import { forEachConcurrently } from '#platform/for-each-concurrently';
import { isoTime } from '#platform/iso-time';

/** Users of a listing that are read at once. */
const READS_IN_FLIGHT_MAX = 16;

type MemberParts = Pick<ConsolePorts, 'users' | 'members' | 'clock' | 'randomness'> & {
  readonly live: LiveSessions;
  readonly audit: ConsoleAudit;
  /** Where links lead. */
  readonly origin: () => string;
};

const NEEDS = { permission: 'members' } as const;

/** The members of the caller's account and its open invitations; an account of others is out of reach. */
export function memberRoutes(parts: MemberParts): ConsoleRoute[] {
  const { live, members } = parts;
  const list = { method: 'GET', path: '/members', ...NEEDS } as const;
  return [
    callerRoute(live, list, async ({ caller }) => {
      const people = await members.find(caller.membership.accountId);
      const invitations = people.links.filter((link) => isOpen(link, parts.clock.wallMs()));
      return shown({
        members: await viewsOf(parts, people.members),
        invitations: invitations.map(viewOfLink),
      });
    }),
    ...invitationRoutes(parts),
    ...membershipRoutes(parts),
  ];
}

function invitationRoutes(parts: MemberParts): ConsoleRoute[] {
  const { live, members, users, audit, clock, randomness, origin } = parts;
  const invite = {
    ...({ method: 'POST', path: '/members/invitations', body: InvitationBody } as const),
    ...NEEDS,
  };
  const take = { method: 'DELETE', path: '/members/invitations/:id', ...NEEDS } as const;
  return [
    callerRoute(live, invite, async ({ caller, body, visit }) => {
      const { accountId } = caller.membership;
      const people = await members.find(accountId);
      const known = await users.findByEmail(body.email);
      if (people.members.some(({ userId }) => userId === known?.user.id)) {
        throw faultFor('already_exists', 'a member has this email', { field: 'email' });
      }
      const { token, digest } = newLinkValue(accountId, randomness);
      const createdAtMs = clock.wallMs();
      const times = { createdAtMs, expiresAtMs: createdAtMs + INVITATION_MS };
      const link = { kind: 'invitation', accountId, digest, ...times, ...body } as const;
      const target = invitationIdOf(link);
      const line = lineOf(caller, visit, 'member.invite', { target, after: body });
      await audit.around(line, () => members.addLink(link));
      return made({ ...viewOfLink(link), link: linkText(origin(), 'invitation', token) });
    }),
    callerRoute(live, take, async ({ caller, params, visit }) => {
      const { accountId } = caller.membership;
      const { links } = await members.find(accountId);
      const link = links.find((each) => invitationIdOf(each) === params['id']);
      if (link?.kind !== 'invitation') throw new Fault('not_found', 'there is no such invitation');
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
      const { userId, role } = await memberOf(parts, accountId, params['id']);
      const more = { target: userId, before: { role }, after: body };
      const line = lineOf(caller, visit, 'member.role', more);
      const next = await audit.around(line, () => members.setRole(accountId, userId, body.role));
      return shown({ id: userId, role: next.role });
    }),
    callerRoute(live, remove, async ({ caller, params, visit }) => {
      const { accountId } = caller.membership;
      const { userId, role } = await memberOf(parts, accountId, params['id']);
      const line = lineOf(caller, visit, 'member.remove', { target: userId, before: { role } });
      await audit.around(line, () => members.remove(accountId, userId));
      return done();
    }),
  ];
}

async function memberOf(
  { members }: MemberParts,
  accountId: string,
  userId: string | undefined,
): Promise<Membership> {
  const people = await members.find(accountId);
  const member = people.members.find((each) => each.userId === userId);
  if (member === undefined) throw new Fault('not_found', 'there is no such member');
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
