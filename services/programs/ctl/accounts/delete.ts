import { isAccountId } from '#accounts/api-key';
import { webhookCalls } from '#ctl/accounts/webhooks';
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
import { confirm, counted, Progress } from '#ctl/printed-text';
import { toFault } from '#errors/fault';
import { CALL_TIMEOUT_MS_MAX } from '#grpc/call-bounds';
import { unnamedCall } from '#grpc/engine-messages';
import { sleep } from '#stdlib/clock';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import type { ListingRow } from '#storage/ports/listings';
import { forgetPeople } from '#storage/ports/people';

/**
 * Time from key revocation until no call can create an instance, in milliseconds. Every limiter
 * applies the revocation within 30 s, and an admitted call takes up to 10 s. If an engine fails,
 * its successor takes over within 30 s and lists new instances within 20 s. Source: decision 232.
 */
const SETTLED_MS = 120_000;

/** Maximum concurrent deletions. */
const IN_FLIGHT_MAX = 32;

/**
 * Maximum number of passes over the listing without progress. A shard handoff takes less time than
 * these passes.
 */
const IDLE_PASSES_MAX = 5;

/** Pause between two passes without progress, in milliseconds. */
const PAUSE_MS = 1_000;

/** Final line: no work remains for the operator. Source: decision 232. */
const LEFT_TEXT =
  'No more steps are needed: running nodes delete the last records from their journals within ' +
  '155 s, and sealed journals are emptied within two days.';

const QUESTION = {
  what: 'the account id',
  purpose: 'to delete the account',
  otherwise: 'the id does not match: nothing was deleted',
} as const;

/** `ctl accounts delete`: deletes an account and all its data. */
export const DELETE_ACCOUNT: ClusterCommand = {
  kind: 'cluster',
  words: ['accounts', 'delete'],
  summary: 'delete an account permanently',
  description:
    'Revokes all keys of an account at once, then permanently deletes its webhook endpoints, its instances, its members and the account. The command takes at least two minutes. After an interruption, run the command again.',
  args: [ACCOUNT],
  options: { yes: YES },
  silentMsMax: SETTLED_MS + SILENT_MS_MAX,
  async run(ports, [id = ''], { yes = false }, terminal) {
    if (!isAccountId(id)) throw new UsageError(`"${id}" is not the id of an account`);
    if (!yes) await confirm({ ...QUESTION, expected: id }, terminal.ask);
    await using acting = await ports.openActing();
    // The audit trail is deleted with the account, unless the operator exports the trail first.
    if ((await ports.accounts.find(id)) !== undefined) {
      await new OperatorAudit(ports).begin(id, { action: 'account.delete', target: id });
    }
    const found = await ports.accounts.beginDeletion(id, ports.clock.wallMs());
    const instances = found === 'deleted' ? 0 : await deleted(ports, acting, id, terminal.report);
    // Repeated even if the account is deleted: an earlier run may have stopped before these steps.
    await ports.meters.erase(id);
    await ports.feeds.erase(id);
    await ports.billing.erase(id);
    await forgetPeople(ports.people, id);
    await ports.keyUses.erase(id);
    await eraseMonths(ports.audit, id, undefined);
    await ports.accounts.endDeletion(id);
    acting.announce(id);
    const data = { id, status: 'deleted', instances_deleted: instances };
    const text =
      found === 'deleted'
        ? `Account ${id} was already deleted.`
        : `Account ${id} and ${counted(instances, 'instance')} are deleted.\n${LEFT_TEXT}`;
    return { data, text };
  },
};

/** Revokes the account's keys and deletes all its instances. Returns the instance count. */
async function deleted(
  ports: ClusterPorts,
  acting: ActingCluster,
  accountId: string,
  report: (line: string) => void,
): Promise<number> {
  const { clock } = ports;
  acting.announce(accountId);
  const shutOutMs = clock.monotonicMs();
  report('all keys are revoked');
  await removeWebhooks(ports, acting, accountId);
  const first = await emptied(ports, acting, accountId, report);
  const leftMs = shutOutMs + SETTLED_MS - clock.monotonicMs();
  if (leftMs > 0) {
    report(`waiting ${Math.ceil(leftMs / 1_000)} s for calls in progress`);
    await sleep(clock, leftMs);
  }
  // A call in progress may have added an endpoint.
  await removeWebhooks(ports, acting, accountId);
  return first + (await emptied(ports, acting, accountId, report));
}

/** Removes the webhook endpoints, so that the deletion of the instances is not sent to them. */
async function removeWebhooks(
  ports: ClusterPorts,
  acting: ActingCluster,
  accountId: string,
): Promise<void> {
  const ask = webhookCalls(ports, acting, accountId);
  for (const { id } of await ask('list')) {
    await ask('remove', { endpointId: id }).catch((error: unknown) => {
      // The router has repeated a removal whose answer was lost.
      if (toFault(error).code !== 'not_found') throw error;
    });
  }
}

/**
 * Makes passes over the listing until no instances are left. Rejects with a `CtlError` after too
 * many passes without progress.
 */
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
  const why = refusal instanceof Error ? refusal.message : 'no engine has these instances';
  return new CtlError(`${left} instances could not be deleted (${why}): run the command again`, {
    cause: refusal,
  });
}

/**
 * Instances to delete. `removed` is called for each instance that this run deletes.
 */
type Removal = {
  readonly accountId: string;
  readonly page: readonly ListingRow[];
  readonly removed: () => void;
};

/**
 * Sends a deletion to the owner of each instance. Returns the error of a failed deletion, or
 * undefined if none failed.
 */
async function removeAll(
  ports: ClusterPorts,
  { engine }: ActingCluster,
  { accountId, page, removed }: Removal,
): Promise<unknown> {
  let refusal: unknown;
  await forEachConcurrently(page, IN_FLIGHT_MAX, async (row) => {
    const { instanceId } = row;
    const deadlineAtMs = ports.clock.wallMs() + CALL_TIMEOUT_MS_MAX;
    // Deletion is idempotent, so the call needs no idempotency key.
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
 * Removes the listing row of an interrupted import that stored no instance. Returns whether such a
 * row existed.
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
