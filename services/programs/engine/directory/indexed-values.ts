import type { IndexedValues } from '#engine/directory/fleet-index';
import type { InstanceOwners } from '#engine/directory/owners';
import { reportOf } from '#engine/instance/answers';
import {
  bodyText,
  type EngineAnswer,
  plainAnswer,
  SUMMARIES_MAX,
  unnamedCall,
} from '#grpc/engine-messages';
import type { Models } from '#identity/model';
import { flagsOf } from '#identity/transitions';
import type { Clock } from '#stdlib/clock';
import { type HeldHead, NO_TAGS } from '#storage/ports/instances';

/** Timeout for the answer of an owner, in milliseconds. */
const READ_TIMEOUT_MS = 2_000;

/** Values of some instances. An instance that is deleted or damaged has no values. */
export type Indexed = {
  readonly values: ReadonlyMap<string, IndexedValues>;
  /** Instances whose owners have not answered. A stored head may lack changes of its owner. */
  readonly unanswered: ReadonlySet<string>;
};

/** Reads the values of an account's instances for its index. Never rejects. */
export type IndexedOf = (accountId: string, instanceIds: readonly string[]) => Promise<Indexed>;

/** Values of a head; undefined if the instance is deleted. */
export function indexedValues(
  instanceId: string,
  head: HeldHead,
  models: Models,
): IndexedValues | undefined {
  if (head.deletedAtMs !== undefined) return undefined;
  const { version, createdAtMs, changedAtMs = createdAtMs, tagsJson = NO_TAGS } = head;
  const flags = flagsOf(reportOf(instanceId, head, models));
  return { version, flags, changedAtMs, tagsJson };
}

/** Reads each instance with `read`. Instances whose reads reject are unanswered. */
export async function indexedBy(
  instanceIds: readonly string[],
  read: (instanceId: string) => Promise<IndexedValues | undefined>,
): Promise<Indexed> {
  const values = new Map<string, IndexedValues>();
  const unanswered = new Set<string>();
  const readOne = async (id: string) => {
    const found = await read(id);
    if (found !== undefined) values.set(id, found);
  };
  await Promise.all(instanceIds.map((id) => readOne(id).catch(() => unanswered.add(id))));
  return { values, unanswered };
}

/** Answer of the owner of some instances. An id alone is unanswered. */
export function indexedAnswer({ values, unanswered }: Indexed): EngineAnswer {
  const rows: (string | number)[][] = [...values].map(([id, indexed]) => {
    const { version, flags, changedAtMs, tagsJson } = indexed;
    const tags = tagsJson === NO_TAGS ? [] : [tagsJson];
    return [id, version, flags, changedAtMs, ...tags];
  });
  return plainAnswer(JSON.stringify([...rows, ...[...unanswered].map((id) => [id])]));
}

/** Reads values from the owners of the instances, in parallel. */
export function indexedOfOwners(owners: InstanceOwners, clock: Clock): IndexedOf {
  async function ask(
    accountId: string,
    address: string | undefined,
    instanceIds: readonly string[],
  ): Promise<Indexed> {
    const nothing = { values: new Map(), unanswered: new Set(instanceIds) };
    if (address === undefined) return nothing;
    const deadlineAtMs = clock.wallMs() + READ_TIMEOUT_MS;
    const command = { kind: 'readIndexed', instanceIds } as const;
    const call = unnamedCall({ accountId, instanceId: '', deadlineAtMs, command });
    return await owners
      .askAt(address, call)
      .then(indexedIn)
      .catch(() => nothing);
  }

  return async (accountId, instanceIds) => {
    const byOwner = Map.groupBy(instanceIds, (id) => owners.addressOf(id));
    const parts = [...byOwner].flatMap(([address, ids]) => {
      const count = Math.ceil(ids.length / SUMMARIES_MAX);
      return Array.from({ length: count }, (_, at) =>
        ask(accountId, address, ids.slice(at * SUMMARIES_MAX, (at + 1) * SUMMARIES_MAX)),
      );
    });
    const answers = await Promise.all(parts);
    return {
      values: new Map(answers.flatMap(({ values }) => [...values])),
      unanswered: new Set(answers.flatMap(({ unanswered }) => [...unanswered])),
    };
  };
}

/** Decodes an owner's answer. Throws an Error if it is malformed. */
function indexedIn(answer: EngineAnswer): Indexed {
  const rows: unknown = JSON.parse(bodyText(answer));
  if (!Array.isArray(rows)) throw new Error('an engine sent values of instances in no list');
  const values = new Map<string, IndexedValues>();
  const unanswered = new Set<string>();
  for (const row of rows) {
    const [id, ...fields]: unknown[] = Array.isArray(row) ? row : [];
    if (typeof id !== 'string') throw malformed();
    if (fields.length === 0) unanswered.add(id);
    else values.set(id, valuesIn(fields));
  }
  return { values, unanswered };
}

function valuesIn([version, flags, changedAtMs, tagsJson = NO_TAGS]: unknown[]): IndexedValues {
  const areNumbers = [version, flags, changedAtMs].every((one) => Number.isSafeInteger(one));
  if (!areNumbers || typeof tagsJson !== 'string') throw malformed();
  return { version, flags, changedAtMs, tagsJson } as IndexedValues;
}

function malformed(): Error {
  return new Error('an engine sent values of an instance in another form');
}
