import { maskedKey } from '#accounts/api-key';
import { isUserId } from '#accounts/people';
import type { AuditLine } from '#audit/entry';
import type { AuditParty } from '#console/answers';
import type { ConsolePorts } from '#console/app/ports';
import { defined } from '#stdlib/defined';

/** Names that lines of the trail have, by field, in order of preference. */
const NAME_FIELDS = ['name', 'email'] as const;

/**
 * Names of users, keys and instances in the audit trail of an account. Reads each user once, and
 * the keys together. Serves one request: a later request sees later names.
 *
 * Users keep their names after they left the account. Keys and instances that no longer exist have
 * the names in their lines.
 */
export class AuditNames {
  readonly #ports: Pick<ConsolePorts, 'users' | 'accounts'>;
  readonly #accountId: string;
  readonly #users = new Map<string, Promise<AuditParty>>();
  #keys: Promise<ReadonlyMap<string, AuditParty>> | undefined;

  constructor(ports: Pick<ConsolePorts, 'users' | 'accounts'>, accountId: string) {
    this.#ports = ports;
    this.#accountId = accountId;
  }

  /** Actor of a line, with the present name. */
  async actorOf({ actor: { id, name } }: AuditLine): Promise<AuditParty> {
    if (id === undefined) return defined<AuditParty>({ id, name, more: undefined });
    return { ...(await this.#partyOf(id)), ...(name !== undefined && { name }) };
  }

  /** Target of an action, with the name in its lines, or else the present name. */
  async targetOf(lines: readonly AuditLine[]): Promise<AuditParty | undefined> {
    const id = lines.find(({ target }) => target !== undefined)?.target;
    if (id === undefined) return undefined;
    const present = await this.#partyOf(id);
    if (present.name !== undefined && isUserId(id)) return present;
    const [name = present.name] = namesIn(lines);
    return { ...present, ...(name !== undefined && { name }) };
  }

  /** Whether a search text, in lower case, occurs in a name or id of an action's lines. */
  async areMatching(text: string, lines: readonly AuditLine[]): Promise<boolean> {
    const [first] = lines;
    const parties = first && [await this.actorOf(first), await this.targetOf(lines)];
    const texts = [...(parties ?? []).flatMap(textsOf), ...namesIn(lines)];
    return texts.some((each) => each.toLowerCase().includes(text));
  }

  async #partyOf(id: string): Promise<AuditParty> {
    if (isUserId(id)) return await this.#userOf(id);
    if (id.startsWith('key_')) return (await this.#allKeys()).get(id) ?? { id };
    return { id };
  }

  #userOf(id: string): Promise<AuditParty> {
    const known = this.#users.get(id);
    if (known !== undefined) return known;
    const read = this.#ports.users.find(id).then((stored) => {
      if (stored === undefined) return { id };
      return { id, name: stored.user.name, more: stored.user.email };
    });
    this.#users.set(id, read);
    return read;
  }

  #allKeys(): Promise<ReadonlyMap<string, AuditParty>> {
    this.#keys ??= this.#ports.accounts.find(this.#accountId).then((found) => {
      const parties = (found?.keys ?? []).map(({ id, name, hint }): [string, AuditParty] => {
        const more = hint === undefined ? undefined : maskedKey(hint);
        return [id, defined<AuditParty>({ id, name, more })];
      });
      return new Map(parties);
    });
    return this.#keys;
  }
}

/** Names of the target in the lines of an action: before the action first. */
function namesIn(lines: readonly AuditLine[]): string[] {
  const details = [...lines.map(({ before }) => before), ...lines.map(({ after }) => after)];
  const names = details.flatMap((each) => NAME_FIELDS.map((field) => each?.[field]));
  return names.filter((name) => typeof name === 'string');
}

function textsOf(party: AuditParty | undefined): string[] {
  const { id, name, more } = party ?? {};
  return [id, name, more].filter((text) => text !== undefined);
}
