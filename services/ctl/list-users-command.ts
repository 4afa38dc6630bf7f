import { isAccountId } from '#accounts/api-key';
import { type ClusterCommand, type ClusterPorts, NotFoundError } from '#ctl/command';
import { ACCOUNT } from '#ctl/command-values';
import { type Cell, table } from '#ctl/table';
import { forEachConcurrently } from '#platform/for-each-concurrently';

/** Users that are read at once. */
const READS_IN_FLIGHT_MAX = 16;

/** A member of an account, or someone who is invited into it. */
type Person = {
  readonly user: string | null;
  readonly email: string;
  readonly name: string | null;
  readonly role: string;
  readonly status: 'member' | 'invited';
  readonly second_factor: boolean | null;
  readonly since: string;
  readonly expires: string | null;
};

/** `ctl users list`: who may sign in to an account. */
export const LIST_USERS: ClusterCommand = {
  kind: 'cluster',
  words: ['users', 'list'],
  summary: 'list members and invitations of an account',
  description:
    'Shows the members of an account with their roles and whether they have a second factor, and its open invitations.',
  args: [ACCOUNT],
  options: {},
  async run(ports, [account = '']) {
    if (!isAccountId(account) || (await ports.accounts.find(account)) === undefined) {
      throw new NotFoundError(`there is no account "${account}"`);
    }
    const data = await peopleOf(ports, account);
    const headings = [
      'USER',
      'EMAIL',
      'NAME',
      'ROLE',
      'STATUS',
      'SECOND FACTOR',
      'SINCE',
      'EXPIRES',
    ];
    return { data, text: table(headings, data.map(rowOf)) };
  },
};

async function peopleOf({ people, clock }: ClusterPorts, account: string): Promise<Person[]> {
  const { members, links } = await people.members.find(account);
  const found: Person[] = [];
  await forEachConcurrently(members, READS_IN_FLIGHT_MAX, async ({ userId, role, createdAtMs }) => {
    const user = (await people.users.find(userId))?.user;
    found.push({
      ...{ user: userId, email: user?.email ?? '', name: user?.name ?? null, role },
      ...{ status: 'member', second_factor: user?.secondFactor?.state === 'active' },
      ...{ since: timeOf(createdAtMs), expires: null },
    });
  });
  for (const link of links) {
    if (link.kind !== 'invitation' || link.expiresAtMs <= clock.wallMs()) continue;
    const { email, role, createdAtMs, expiresAtMs } = link;
    found.push({
      ...{ user: null, email, name: null, role, status: 'invited', second_factor: null },
      ...{ since: timeOf(createdAtMs), expires: timeOf(expiresAtMs) },
    });
  }
  return found.toSorted((a, b) => (a.email < b.email ? -1 : 1));
}

function rowOf(person: Person): Cell[] {
  const { user, email, name, role, status, second_factor: second, since, expires } = person;
  const factor = second === null ? undefined : second ? 'yes' : 'no';
  const [id, called, until] = [user, name, expires].map((text) => text ?? undefined);
  return [id, email, called, role, status, factor, since, until];
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
