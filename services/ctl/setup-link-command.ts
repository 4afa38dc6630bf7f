import { isAccountId } from '#accounts/api-key';
import { hasOwner } from '#accounts/people';
import { makeSetUpLink } from '#console/entry-links';
import { type ClusterCommand, CtlError, NotFoundError } from '#ctl/command';
import { ACCOUNT } from '#ctl/command-values';
import { OperatorAudit } from '#ctl/operator-audit';
import { systemRandomness } from '#platform/randomness';

/** `ctl users setup-link`: how the first owner of an account comes into the console. */
export const SETUP_LINK: ClusterCommand = {
  kind: 'cluster',
  words: ['users', 'setup-link'],
  summary: 'print the link for the first owner of an account',
  description:
    'Prints a link by which the first owner of an account signs up in the console; good once, for 24 hours, and only while the account has no owner.',
  args: [ACCOUNT],
  options: {},
  async run(ports, [account = '']) {
    const { accounts, people, clock, consoleOrigin } = ports;
    if (!isAccountId(account) || (await accounts.find(account)) === undefined) {
      throw new NotFoundError(`there is no account "${account}"`);
    }
    if (consoleOrigin === undefined) {
      throw new CtlError('SERVICE_CONSOLE_ORIGIN: where people reach the console');
    }
    if (hasOwner(await people.members.find(account))) throw ownedAlready(account);
    const making = { members: people.members, clock, randomness: systemRandomness };
    const what = { action: 'account.setup_link', target: account };
    const link = await new OperatorAudit(ports).around(account, what, async () =>
      makeSetUpLink(making, account, consoleOrigin),
    );
    if (link === undefined) throw ownedAlready(account);
    return { data: { account, link }, text: link };
  },
};

function ownedAlready(account: string): CtlError {
  return new CtlError(`account ${account} has an owner, who invites others in the console`);
}
