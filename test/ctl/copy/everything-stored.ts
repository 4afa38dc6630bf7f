import { SERVICES } from '#cluster-status/snapshot';
import { everyAccount } from '#ctl/bounded-work';
import type { CopiedStores } from '#ctl/command';
import type { InstanceHead, PagedInstances } from '#storage/ports/instances';

/** Contents of all stores in a fixed order, with instances of the first `buckets` buckets. */
export async function everythingStored(stores: CopiedStores, buckets: number): Promise<unknown> {
  const accounts = await Array.fromAsync(everyAccount(stores.accounts));
  const users = (await Array.fromAsync(stores.users.pages())).flat();
  return {
    accounts: await Promise.all(accounts.map(({ id }) => accountStored(stores, id))),
    deletedIds: (await Array.fromAsync(stores.accounts.deletedIds())).flat().sort(),
    users: users.sort((a, b) => (a.id < b.id ? -1 : 1)),
    instances: await instancesStored(stores.instances, buckets),
    tails: await tailsStored(stores),
  };
}

async function accountStored(stores: CopiedStores, id: string) {
  const { accounts, audit, billing, feeds, keyUses, listings, members, meters } = stores;
  const found = await accounts.find(id);
  const months = await audit.months(id);
  const people = await members.find(id);
  const billed = await billing.find(id);
  return {
    account: { ...found?.account },
    keys: (await accounts.changeKeys(id, (answer) => ({ put: [], answer }))).map((key) => ({
      ...key,
    })),
    audit: await Promise.all(months.map((month) => audit.read(id, month, 10_000, 10_000))),
    record: billed?.record,
    owners: await Promise.all(
      (billed?.record.customers ?? []).map((one) => billing.accountOf(one.id)),
    ),
    uses: sorted(await keyUses.find(id), ({ digest }) => digest),
    listing: sorted(await listings.load(id), ({ instanceId }) => instanceId),
    members: sorted(people.members, ({ userId }) => userId),
    links: sorted(people.links, ({ digest }) => digest),
    meter: await meters.readHead(id),
    months: await meters.readMonths(id),
    feed: await feeds.readHead(id),
    feedChunks: await feeds.readChunks(id, 0, 1_000),
  };
}

async function instancesStored(instances: PagedInstances, buckets: number) {
  const heads = new Map<string, InstanceHead | Error>();
  const answers = [];
  for (let bucket = 0; bucket < buckets; bucket += 1) {
    for await (const page of instances.headPages(bucket)) {
      for (const [id, head] of page) heads.set(id, head);
      answers.push(...(await Array.fromAsync(instances.answerPages([...page.keys()]))).flat());
    }
  }
  return {
    heads: await Promise.all(
      sorted([...heads], ([id]) => id).map(async ([id, head]) => [
        id,
        head,
        await instances.readHistory(id, 10_000, 10_000),
        await instances.readDrift(id, 10_000, 10_000),
      ]),
    ),
    answers: sorted(answers, ({ instanceId, answer }) => `${instanceId} ${answer.key}`),
  };
}

async function tailsStored({ journals, shards }: CopiedStores) {
  const rows = await Promise.all(
    SERVICES.map((service) => shards.load(service, Number.MAX_SAFE_INTEGER)),
  );
  const owners = rows.map((some) => sorted(some, ({ shard }) => String(shard).padStart(4, '0')));
  const named = new Set(owners.flat().map(({ owner }) => owner));
  const tails = [...named].sort().map(async (owner) => {
    const head = await journals.readHead(owner, 'serial');
    return [owner, await journals.readSlots(owner, head?.lowWaterMark ?? 0, head?.next ?? 0)];
  });
  return [owners.map((some) => some.map(({ owner }) => owner)), await Promise.all(tails)];
}

function sorted<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Row[] {
  return rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}
