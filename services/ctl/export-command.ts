import { createHash } from 'node:crypto';
import {
  type ClusterCommand,
  type ClusterPorts,
  CtlError,
  NotFoundError,
  UsageError,
} from '#ctl/command';
import { ACCOUNT } from '#ctl/command-values';
import { countedRows } from '#ctl/counted';
import { accountLine, type ExportCounts, endLine, headerLine, keyLine } from '#ctl/export-lines';
import { ExportedInstances } from '#ctl/exported-instances';
import { outputTo } from '#ctl/output';
import { Progress } from '#ctl/progress';

/** `ctl export`: an account with all it has, as lines of JSON. */
export const EXPORT: ClusterCommand = {
  kind: 'cluster',
  words: ['export'],
  summary: 'write an account as lines of JSON',
  description:
    'Writes an account with its keys (as digests), instances, observations and drift events as lines of JSON, to standard output or a new file; what was acknowledged two minutes before is in it.',
  args: [ACCOUNT],
  options: { file: { value: 'path', about: 'new file (standard output without it)' } },
  async run(ports, [id = ''], { file, json }, { write, report, warn }) {
    if (file === undefined && json) {
      throw new UsageError('--json needs --file: standard output is the export');
    }
    await using output = await outputTo(file, write);
    const progress = new Progress(ports.clock, file === undefined ? warn : report);
    const counts = await exported(ports, id, (text) => output.write(text), progress);
    await output.keep();
    if (file === undefined) return { data: undefined, text: '' };
    return {
      data: { account: id, file, ...counts },
      text: `${file}: ${countedRows(counts)}.\nWhere it goes: ctl import ${file}`,
    };
  },
};

/** Writes line after line; what is held in memory does not depend on how much there is. */
async function exported(
  ports: ClusterPorts,
  accountId: string,
  write: (text: string) => Promise<void>,
  progress: Progress,
): Promise<ExportCounts> {
  const found = await ports.accounts.find(accountId);
  if (found === undefined) throw new NotFoundError(`there is no account ${accountId}`);
  const { account, keys } = found;
  if (account.status === 'importing' || account.status === 'deleting') {
    throw new CtlError(`account ${accountId} is ${account.status}`);
  }
  const hash = createHash('sha256');
  const put = async (text: string): Promise<void> => {
    hash.update(text);
    await write(text);
  };
  const exportedAt = new Date(ports.clock.wallMs()).toISOString();
  await put(headerLine(accountId, ports.release, exportedAt));
  await put(accountLine(account) + keys.map(keyLine).join(''));
  const instances = new ExportedInstances(ports, accountId, progress);
  for await (const text of instances.lines()) await put(text);
  const counts = { keys: keys.length, ...instances.counts };
  await write(endLine(counts, hash.digest('hex')));
  return counts;
}
