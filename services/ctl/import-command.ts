import { ownedShards } from '#ctl/cluster-snapshot';
import { type ClusterCommand, type ClusterPorts, CtlError } from '#ctl/command';
import { counted, countedRows } from '#ctl/counted';
import { type CheckedExport, checkExport, isBegun } from '#ctl/import-check';
import { storeExport } from '#ctl/import-store';
import { missing } from '#ctl/imported-key';
import { OperatorAudit } from '#ctl/operator-audit';
import { Fault } from '#fault/fault';

/** `ctl import`: an account from a file of `ctl export`, whole or not at all. */
export const IMPORT: ClusterCommand = {
  kind: 'cluster',
  words: ['import'],
  summary: 'read an account from a file of `ctl export`',
  description:
    'Reads an account from a file of `ctl export`, proves every head from its rows, writes it, and opens it when all is there; goes on where it was cut when it is run again.',
  args: [{ name: 'file', about: 'file that `ctl export` wrote' }],
  options: {},
  async run(ports, [path = ''], _values, { report }) {
    // Where instances lie follows from the number of shards, which a first node fixes.
    await ownedShards(ports, 'engine');
    const checked = await checkExport(path, ports, report);
    const { counts, account, unproven } = checked;
    const proven = counted(counts.instances - unproven, 'instance');
    report(`${path} is whole; proved by their rows: ${proven}`);
    report(planText(account));
    const what = { action: 'account.import', target: account.id };
    const { written, found } = await new OperatorAudit(ports).around(account.id, what, async () => {
      await claim(ports, checked);
      const stored = await storeExport(checked, ports, report);
      await assertComplete(ports, checked);
      await open(ports, checked);
      return stored;
    });
    const { status } = checked;
    const { plan, limits } = account;
    const data = { account: account.id, status, plan, limits, ...counts, written, found, unproven };
    return { data, text: textOf(checked, found) };
  },
};

function textOf({ account, status, counts, unproven }: CheckedExport, found: number): string {
  const lines = [`Account ${account.id} is here: ${countedRows(counts)}.`, planText(account)];
  if (found > 0) lines.push(`${found} of the instances were there from an earlier try.`);
  if (unproven > 0) {
    lines.push(
      `Of ${unproven} the rows are in order, but the head does not follow from them alone.`,
    );
  }
  lines.push(nextOf(status, account.id));
  return lines.join('\n');
}

/** What the account may do here. The numbers of an enterprise are whatever its file says. */
function planText({ id, name, plan, limits, planChange }: CheckedExport['account']): string {
  const of = (what: string, { requestsPerMinute, cyclesPerMonth, instances }: typeof limits) =>
    `${what}: ${requestsPerMinute} requests a minute, ${cyclesPerMonth} cycles a month, ${instances} instances`;
  const present = `Account ${id} (${JSON.stringify(name)}), ${of(`plan ${plan}`, limits)}.`;
  if (planChange === undefined) return present;
  const at = new Date(planChange.atMs).toISOString();
  return `${present} From ${at}, ${of(`plan ${planChange.plan}`, planChange.limits)}.`;
}

function nextOf(status: CheckedExport['status'], id: string): string {
  return status === 'suspended'
    ? `It is suspended as it was: ctl accounts resume ${id}`
    : 'Its keys are let in within 30 s.';
}

/** Makes the account, which no caller can use yet, or finds it as an earlier try has made it. */
async function claim(ports: ClusterPorts, { account }: CheckedExport): Promise<void> {
  const { accounts } = ports;
  const { id } = account;
  if (await isBegun(accounts, account)) return;
  await accounts.create({ ...account, status: 'importing' }).catch((error: unknown) => {
    if (!(error instanceof Fault) || error.code !== 'conflict') throw error;
    throw new CtlError(`account ${id} was deleted here, and an id is never used twice`);
  });
}

/** What an import of another file has left would be seen with the rest. */
async function assertComplete(
  { listings }: ClusterPorts,
  { account, counts }: CheckedExport,
): Promise<void> {
  let listed = 0;
  for await (const page of listings.pages(account.id)) listed += page.length;
  if (listed === counts.instances) return;
  throw new CtlError(
    `account ${account.id} has ${listed} instances instead of ${counts.instances}: another file was imported, or one names an instance twice; it stays closed: import the first file, or give it up with "ctl accounts delete"`,
  );
}

/** The keys, and then the account: from here on it is served. */
async function open(
  { accounts }: ClusterPorts,
  { account, status, keys }: CheckedExport,
): Promise<void> {
  const { id } = account;
  for (const key of keys) {
    await accounts.changeKeys(id, (there) => ({ put: missing(key, there), answer: undefined }));
  }
  await accounts.endImport({ ...account, status });
}
