import { isAccountId } from '#accounts/api-key';
import { monthBeginOf, monthEndOf, monthNameOf } from '#accounts/month';
import { type InstancesUsed, instancesUsed } from '#console/instance-usage';
import { type ClusterCommand, NotFoundError } from '#ctl/command';
import { ACCOUNT } from '#ctl/command-values';
import { counted } from '#ctl/counted';
import { SILENT_MS_MAX } from '#ctl/deadline';
import { table } from '#ctl/table';

/** How long it may take, in milliseconds: who waits for a command has more time than a page. Chosen. */
const TIMEOUT_MS = 60_000;

/** `ctl usage instances`: which instances used most of the present month. */
export const USAGE_INSTANCES: ClusterCommand = {
  kind: 'cluster',
  words: ['usage', 'instances'],
  summary: 'show the instances with the most cycles',
  description:
    'Shows the 20 instances of an account with the most cycles of the present month, by the time of their observations.',
  args: [ACCOUNT],
  options: {},
  silentMsMax: TIMEOUT_MS + SILENT_MS_MAX,
  async run(ports, [account = '']) {
    if (!isAccountId(account) || (await ports.accounts.find(account)) === undefined) {
      throw new NotFoundError(`there is no account "${account}"`);
    }
    await using acting = await ports.openActing();
    const { clock } = ports;
    const sinceMs = monthBeginOf(monthEndOf(clock.wallMs()));
    const bounds = { sinceMs, timeoutMs: TIMEOUT_MS };
    const used = await instancesUsed({ engine: acting.engine, clock }, account, bounds);
    const month = monthNameOf(sinceMs);
    const data = {
      ...{ account_id: account, month, instances: used.instances },
      ...{ instances_total: used.instancesTotal, instances_listed: used.instancesListed },
      is_complete: used.isComplete,
    };
    return { data, text: textOf(month, used) };
  },
};

function textOf(month: string, { instances, ...used }: InstancesUsed): string {
  const { isComplete, instancesListed: listed, instancesTotal: total } = used;
  const rows = instances.map(({ id, name, cycles }) => [id, JSON.stringify(name), cycles]);
  const why =
    listed < total
      ? `of ${counted(total, 'instance')} the ${listed} created last were looked at`
      : 'there was no time to look at every instance';
  return [
    rows.length === 0
      ? `${month}: no instance has observed anything`
      : `${month}\n\n${table(['INSTANCE', 'NAME', 'CYCLES'], rows)}`,
    ...(isComplete ? [] : [`This may not be all: ${why}.`]),
  ].join('\n\n');
}
