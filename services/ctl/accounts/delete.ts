import { isAccountId } from '#accounts/api-key';
import {
  type ActingCluster,
  type ClusterCommand,
  type ClusterPorts,
  CtlError,
  UsageError,
} from '#ctl/command';
import { ACCOUNT, YES } from '#ctl/command-line';
import { SILENT_MS_MAX } from '#ctl/deadline';
import { eraseMonths, OperatorAudit } from '#ctl/operator';
import { confirm, counted, Progress } from '#ctl/text';
import { toFault } from '#fault/fault';
import { sleep } from '#platform/clock';
import { forEachConcurrently } from '#platform/for-each-concurrently';
import type { ListingRow } from '#storage/ports/listings';
import { forgetPeople } from '#storage/ports/people';
import { CALL_TIMEOUT_MS_MAX } from '#wire/bounds';
import { unnamedCall } from '#wire/engine-messages';

/**
 * How long after its keys were revoked an account may still get an instance, in milliseconds: 30 s
 * until the last limiter knows, 10 s for a call that was let in, and what an engine that fails in
 * that moment leaves: another one takes over in 30 s and lists what it finds in 20 s. Source:
 * decision 232.
 */
const SETTLED_MS = 120_000;

/** Deletions under way at once: a page of the listing in some seconds. Chosen. */
const IN_FLIGHT_MAX = 32;

/** How often the listing is gone through although nothing of it goes; a shard moves in less. */
const IDLE_PASSES_MAX = 5;

/** Between two of those, in milliseconds. */
const PAUSE_MS = 1_000;

/** What an operator need not do. Source: decision 232. */
const LEFT_TEXT = 'Nothing is left to do: the last of it leaves the journals within 155 s.';

const QUESTION = {
  what: 'The id of the account',
  purpose: 'to delete it',
  otherwise: 'that is another id: nothing has been deleted',
} as const;

/** `ctl accounts delete`: the account and everything of it. */
export const DELETE_ACCOUNT: ClusterCommand = {
  kind: 'cluster',
  words: ['accounts', 'delete'],
  summary: 'delete an account for good',
  description:
    'Revokes all keys of an account at once, deletes its instances and then the account with its members, for good; takes two minutes or more, and goes on where it was stopped when it is run again.',
  args: [ACCOUNT],
  options: { yes: YES },
  silentMsMax: SETTLED_MS + SILENT_MS_MAX,
  async run(ports, [id = ''], { yes = false }, terminal) {
    if (!isAccountId(id)) throw new UsageError(`"${id}" is not the id of an account`);
    if (!yes) await confirm({ ...QUESTION, expected: id }, terminal.ask);
    await using acting = await ports.openActing();
    // It goes with the account in the end: export it before, if it is to be kept.
    if ((await ports.accounts.find(id)) !== undefined) {
      await new OperatorAudit(ports).begin(id, { action: 'account.delete', target: id });
    }
    const found = await ports.accounts.beginDeletion(id, ports.clock.wallMs());
    const instances = found === 'deleted' ? 0 : await deleted(ports, acting, id, terminal.report);
    // All of it may be what an earlier run did not come to.
    await ports.meters.erase(id);
    await ports.billing.erase(id);
    await forgetPeople(ports.people, id);
    await ports.keyUses.erase(id);
    await eraseMonths(ports.audit, id, undefined);
    await ports.accounts.endDeletion(id);
    acting.announce(id);
    const data = { id, status: 'deleted', instances_deleted: instances };
    const text =
      found === 'deleted'
        ? `Account ${id} was deleted before.`
        : `Account ${id} is deleted, and ${counted(instances, 'instance')} with it.\n${LEFT_TEXT}`;
    return { data, text };
  },
};

/** Deletes every instance of an account whose callers are shut out now; answers how many. */
async function deleted(
  ports: ClusterPorts,
  acting: ActingCluster,
  accountId: string,
  report: (line: string) => void,
): Promise<number> {
  const { clock } = ports;
  acting.announce(accountId);
  const shutOutMs = clock.monotonicMs();
  report('every key is revoked');
  const first = await emptied(ports, acting, accountId, report);
  const leftMs = shutOutMs + SETTLED_MS - clock.monotonicMs();
  if (leftMs > 0) {
    report(`waiting ${Math.ceil(leftMs / 1_000)} s for calls that were under way`);
    await sleep(clock, leftMs);
  }
  return first + (await emptied(ports, acting, accountId, report));
}

/** Goes through the listing until it is empty. */
async function emptied(
  ports: ClusterPorts,
  acting: ActingCluster,
  accountId: string,
  report: (line: string) => void,
): Promise<number> {
  const progress = new Progress(ports.clock, report);
  let total = 0;
  for (let idle = 0; idle < IDLE_PASSES_MAX; ) {
    let seen = 0;
    let gone = 0;
    let refusal: unknown;
    for await (const page of ports.listings.pages(accountId)) {
      const removed = () => {
        gone += 1;
        progress.at(() => `${counted(total + gone, 'instance')} deleted`);
      };
      seen += page.length;
      refusal = (await removeAll(ports, acting, { accountId, page, removed })) ?? refusal;
    }
    total += gone;
    if (seen === 0) return total;
    if (gone > 0) continue;
    idle += 1;
    if (idle === IDLE_PASSES_MAX) throw notEmptied(seen, refusal);
    await sleep(ports.clock, PAUSE_MS);
  }
  return total;
}

function notEmptied(left: number, refusal: unknown): CtlError {
  const why = refusal instanceof Error ? refusal.message : 'no engine knows them';
  return new CtlError(`${left} instances are left (${why}): run it again`, { cause: refusal });
}

/**
 * Instances to be deleted; `removed` hears of each that was, which is none that was gone already.
 */
type Removal = {
  readonly accountId: string;
  readonly page: readonly ListingRow[];
  readonly removed: () => void;
};

/** Has the owners of instances delete them; answers why one of them was not, if so. */
async function removeAll(
  ports: ClusterPorts,
  { engine }: ActingCluster,
  { accountId, page, removed }: Removal,
): Promise<unknown> {
  let refusal: unknown;
  await forEachConcurrently(page, IN_FLIGHT_MAX, async (row) => {
    const { instanceId } = row;
    const deadlineAtMs = ports.clock.wallMs() + CALL_TIMEOUT_MS_MAX;
    // A deletion that comes twice is none the second time, so that the call needs no name.
    const command = { kind: 'remove' } as const;
    try {
      await engine.ask(unnamedCall({ accountId, instanceId, deadlineAtMs, command }));
      removed();
    } catch (error) {
      if (toFault(error).code !== 'not_found') refusal = error;
      else if (await hasUnlisted(ports, accountId, row)) removed();
    }
  });
  return refusal;
}

/**
 * Takes away a line of the listing that an import was cut behind: of its instance nothing is there.
 */
async function hasUnlisted(
  { instances, listings }: ClusterPorts,
  accountId: string,
  { instanceId, version }: ListingRow,
): Promise<boolean> {
  if ((await instances.readHead(instanceId)) !== undefined) return false;
  await listings.remove(accountId, instanceId, version + 1);
  return true;
}
