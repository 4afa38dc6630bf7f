import type { AuditedCall } from '#edge/serve/account';
import type { CallIds } from '#edge/serve/engine-calls';
import { CALL_TIMEOUT_MS_MAX } from '#grpc/call-bounds';
import {
  bodyText,
  type EngineClient,
  unnamedCall,
  type WebhookCommand,
  type WebhookSettings,
} from '#grpc/engine-messages';
import type { Clock } from '#stdlib/clock';
import type { Randomness } from '#stdlib/randomness';
import type { SecretSeal } from '#stdlib/secret-seal';
import { formatSecret, SECRET_BYTES } from '#webhooks/signature';

type AccountWebhooksPorts = {
  readonly engine: EngineClient;
  readonly callIds: Pick<CallIds, 'next'>;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly seal: SecretSeal;
  /** Whether customers may use internal networks. */
  readonly isInternalAllowed: boolean;
};

/** Caller of an operation on webhook endpoints. */
type WebhookCaller = {
  readonly accountId: string;
  readonly audited: AuditedCall | undefined;
};

/** A question to the engine, without what is empty. */
type Question = Pick<WebhookCommand, 'action' | 'endpointId'> & Partial<WebhookCommand>;

/** Number of endpoints in each state. */
type WebhookCounts = Readonly<Record<'active' | 'failing' | 'paused', number>>;

/** An object of the API. */
type Data = Readonly<Record<string, unknown>>;

/** Host of an endpoint's address, its name in audit lines. A path or query can have secrets. */
const hostOf = (url: unknown): string => URL.parse(String(url))?.host ?? '';

/** Maximum duration of `counts`, in milliseconds: the account is answered without an engine. */
const COUNTS_MS_MAX = 1_000;

/** Hexadecimal digits of an endpoint's id. */
const ID_DIGITS = 16;

/**
 * Client of the engine's operations on webhook endpoints. Creates and seals the secrets, so that
 * engines never see them. Rejects with the engine's faults.
 */
export class AccountWebhooks {
  readonly #ports: AccountWebhooksPorts;

  constructor(ports: AccountWebhooksPorts) {
    this.#ports = ports;
  }

  /** Whether customers may use internal networks. */
  get isInternalAllowed(): boolean {
    return this.#ports.isInternalAllowed;
  }

  async list(caller: WebhookCaller): Promise<readonly Data[]> {
    return await this.#list(caller, this.#deadline());
  }

  /** Number of endpoints in each state. `null` if the engine does not answer within a second. */
  async counts(caller: WebhookCaller): Promise<WebhookCounts | null> {
    const counts = { active: 0, failing: 0, paused: 0 };
    try {
      const listed = await this.#list(caller, this.#deadline(COUNTS_MS_MAX));
      for (const { paused, failing_since: failing } of listed) {
        if (paused !== null) counts.paused += 1;
        else if (failing !== null) counts.failing += 1;
        else counts.active += 1;
      }
      return counts;
    } catch {
      return null;
    }
  }

  /** Creates an endpoint. The answer has its secret. */
  async create(caller: WebhookCaller, settings: WebhookSettings): Promise<Data> {
    const id = `whk_${this.#ports.randomness.hex(ID_DIGITS)}`;
    await caller.audited?.begin(id, { after: { name: hostOf(settings.url) } });
    const { secret, sealedSecret } = this.#newSecret(id);
    const sealed = { ...settings, sealedSecret };
    const question = { action: 'create', endpointId: id, settings: sealed } as const;
    return { ...(await this.#ask(caller, question, this.#deadline())), secret };
  }

  /** Replaces the secret of an endpoint. The answer has the new secret. */
  async rotate(caller: WebhookCaller, id: string): Promise<Data> {
    const { secret, sealedSecret } = this.#newSecret(id);
    return { ...(await this.change(caller, id, { sealedSecret })), secret };
  }

  async change(caller: WebhookCaller, id: string, settings: WebhookSettings): Promise<Data> {
    return await this.#written(caller, { action: 'change', endpointId: id, settings });
  }

  async remove(caller: WebhookCaller, id: string): Promise<Data> {
    return await this.#written(caller, { action: 'remove', endpointId: id });
  }

  /** Delivers changes once more. */
  async redeliver(caller: WebhookCaller, id: string, positions: readonly number[]): Promise<Data> {
    return await this.#written(caller, { action: 'redeliver', endpointId: id, positions });
  }

  /** Reads an endpoint, or its deliveries; or sends a test message. */
  async read(
    caller: WebhookCaller,
    id: string,
    action: 'read' | 'readDeliveries' | 'test',
  ): Promise<Data> {
    return await this.#ask(caller, { action, endpointId: id }, this.#deadline());
  }

  /** Writes the audit line of a change before the change. An unknown endpoint leaves no line. */
  async #written(caller: WebhookCaller, question: Question): Promise<Data> {
    const deadlineAtMs = this.#deadline();
    const { endpointId } = question;
    const present = await this.#ask(caller, { action: 'read', endpointId }, deadlineAtMs);
    // After a deletion, only the line has the address.
    await caller.audited?.begin(endpointId, { before: { name: hostOf(present['url']) } });
    return await this.#ask(caller, question, deadlineAtMs);
  }

  async #list(caller: WebhookCaller, deadlineAtMs: number): Promise<readonly Data[]> {
    const listed: unknown = await this.#ask(
      caller,
      { action: 'list', endpointId: '' },
      deadlineAtMs,
    );
    return listed as readonly Data[];
  }

  async #ask(
    { accountId }: WebhookCaller,
    question: Question,
    deadlineAtMs: number,
  ): Promise<Data> {
    const { engine, callIds } = this.#ports;
    const command = { kind: 'webhook', settings: {}, positions: [], ...question } as const;
    const call = unnamedCall({ accountId, instanceId: '', deadlineAtMs, command });
    const answer = await engine.ask({ ...call, callId: callIds.next() });
    return JSON.parse(bodyText(answer)).data;
  }

  /** Time after which an engine must not begin anything for a call that begins now. */
  #deadline(timeoutMs = CALL_TIMEOUT_MS_MAX): number {
    return this.#ports.clock.wallMs() + timeoutMs;
  }

  #newSecret(endpointId: string): { secret: string; sealedSecret: string } {
    const { randomness, seal } = this.#ports;
    const secret = formatSecret(Buffer.from(randomness.hex(2 * SECRET_BYTES), 'hex'));
    return { secret, sealedSecret: seal.seal(endpointId, secret) };
  }
}
