import type { z } from 'zod';
import { assertAccount } from '#ctl/accounts/accounts';
import {
  type ActingCluster,
  type ArgSpec,
  type ClusterCommand,
  type ClusterPorts,
  CtlError,
  UsageError,
} from '#ctl/command';
import { ACCOUNT } from '#ctl/command-line';
import { OperatorAudit } from '#ctl/operator';
import { counted, table } from '#ctl/printed-text';
import {
  type DeletedWebhook,
  type Redelivered,
  Webhook,
  type WebhookDeliveries,
} from '#edge/schemas/webhooks';
import { CALL_TIMEOUT_MS_MAX } from '#grpc/call-bounds';
import {
  bodyText,
  REDELIVERIES_MAX,
  unnamedCall,
  type WebhookCommand,
} from '#grpc/engine-messages';

type Endpoint = z.infer<typeof Webhook>;
type Deliveries = z.infer<typeof WebhookDeliveries>;

/** Argument of commands about one webhook endpoint. */
const ENDPOINT: ArgSpec = {
  name: 'endpoint',
  about: 'id of the endpoint, as `ctl webhooks list` shows it',
  faultOf: (text) =>
    Webhook.shape.id.safeParse(text).success
      ? undefined
      : 'must be an id such as whk_0123456789abcdef',
};

/** Commands for the webhook endpoints of an account. */
export const WEBHOOK_COMMANDS: readonly ClusterCommand[] = [
  {
    kind: 'cluster',
    words: ['webhooks', 'list'],
    summary: 'list the webhook endpoints of an account',
    description:
      'Shows for each webhook endpoint: id, address, state, first failure since the last success, number of changes behind, and number of failed changes. The state is `active`, `failing`, or `paused` with the cause: `requested`, `failing` (three days without a success) or `removed` (status 410).',
    args: [ACCOUNT],
    options: {},
    async run(ports, [account = '']) {
      await using webhooks = await openWebhooks(ports, account);
      const data = await webhooks.ask('list');
      return { data, text: endpointTable(data) };
    },
  },
  oneSwitch(
    'pause',
    'pause a webhook endpoint',
    'Pauses a webhook endpoint: nothing is sent to the endpoint until `ctl webhooks resume`. The endpoint keeps its position in the log of the account.',
  ),
  oneSwitch(
    'resume',
    'resume a paused webhook endpoint',
    'Resumes a paused webhook endpoint. The endpoint gets the changes since its pause that are still in the log of the account.',
  ),
  {
    kind: 'cluster',
    words: ['webhooks', 'deliveries'],
    summary: 'show the last attempts and failed changes of a webhook endpoint',
    description:
      'Shows the last attempts to deliver messages to a webhook endpoint, and its failed changes, newest first. Attempts are only in the memory of the engine that owns the feed of the account.',
    args: [ACCOUNT, ENDPOINT],
    options: {},
    async run(ports, [account = '', endpointId = '']) {
      await using webhooks = await openWebhooks(ports, account);
      const data = await webhooks.ask('readDeliveries', { endpointId });
      return { data, text: deliveriesText(data) };
    },
  },
  {
    kind: 'cluster',
    words: ['webhooks', 'redeliver'],
    summary: 'send changes to a webhook endpoint again',
    description: `Sends changes to a webhook endpoint again, each in its own message: up to ${REDELIVERIES_MAX} positions, as \`ctl webhooks deliveries\` shows them. The changes must still be in the log of the account, and the endpoint must not be paused.`,
    args: [
      ACCOUNT,
      ENDPOINT,
      {
        name: 'position...',
        about: 'positions of the changes in the log of the account',
        faultOf: positionFaultOf,
      },
    ],
    options: {},
    async run(ports, [account = '', endpointId = '', ...texts]) {
      if (texts.length > REDELIVERIES_MAX) {
        throw new UsageError(`too many positions: the maximum is ${REDELIVERIES_MAX}`);
      }
      if (ports.file !== undefined) {
        throw new CtlError(
          'ctl sends no webhooks: start the service and call POST /v1/webhooks/{id}/redeliver',
        );
      }
      await using webhooks = await openWebhooks(ports, account);
      await webhooks.ask('read', { endpointId });
      const positions = texts.map(Number);
      const what = { action: 'webhook.redeliver', target: endpointId, after: { positions } };
      const data = await new OperatorAudit(ports).around(account, what, () =>
        webhooks.ask('redeliver', { endpointId, positions }),
      );
      const next = `"ctl webhooks deliveries ${account} ${endpointId}" shows the outcome`;
      return { data, text: `Sending ${counted(data.changes, 'change')} again: ${next}.` };
    },
  },
];

/** Builds a command that pauses or resumes an endpoint. */
function oneSwitch(word: 'pause' | 'resume', summary: string, description: string): ClusterCommand {
  return {
    kind: 'cluster',
    words: ['webhooks', word],
    summary,
    description,
    args: [ACCOUNT, ENDPOINT],
    options: {},
    async run(ports, [account = '', endpointId = '']) {
      await using webhooks = await openWebhooks(ports, account);
      // An unknown endpoint leaves no audit line.
      const { paused } = await webhooks.ask('read', { endpointId });
      const settings = { isPaused: word === 'pause' };
      const what = {
        ...{ action: 'webhook.update', target: endpointId },
        ...{ before: { is_paused: paused !== null }, after: { is_paused: settings.isPaused } },
      };
      const data = await new OperatorAudit(ports).around(account, what, () =>
        webhooks.ask('change', { endpointId, settings }),
      );
      return { data, text: endpointTable([data]) };
    },
  };
}

/** Opens calls about the endpoints of an account. Rejects with a `NotFoundError`. */
async function openWebhooks(ports: ClusterPorts, account: string) {
  await assertAccount(ports, account);
  const acting = await ports.openActing();
  return {
    ask: webhookCalls(ports, acting, account),
    [Symbol.asyncDispose]: () => acting[Symbol.asyncDispose](),
  };
}

/** Answers to actions, as in the API. */
type Answers = {
  readonly list: readonly Endpoint[];
  readonly read: Endpoint;
  readonly change: Endpoint;
  readonly remove: z.infer<typeof DeletedWebhook>;
  readonly readDeliveries: Deliveries;
  readonly redeliver: z.infer<typeof Redelivered>;
};

/**
 * Calls to the engine that owns the feed of an account. The router may repeat a call, so each action
 * must be idempotent. A repeated redelivery only sends a message twice.
 */
export function webhookCalls(
  { clock }: Pick<ClusterPorts, 'clock'>,
  { engine }: Pick<ActingCluster, 'engine'>,
  accountId: string,
) {
  return async <Action extends keyof Answers>(
    action: Action,
    asked: Partial<Pick<WebhookCommand, 'endpointId' | 'settings' | 'positions'>> = {},
  ): Promise<Answers[Action]> => {
    const unset = { endpointId: '', settings: {}, positions: [] };
    const command: WebhookCommand = { kind: 'webhook', action, ...unset, ...asked };
    const deadlineAtMs = clock.wallMs() + CALL_TIMEOUT_MS_MAX;
    const call = unnamedCall({ accountId, instanceId: '', deadlineAtMs, command });
    return JSON.parse(bodyText(await engine.ask(call))).data;
  };
}

function positionFaultOf(text: string): string | undefined {
  return /^\d{1,15}$/.test(text) ? undefined : 'must be a position in the log, such as 41';
}

function endpointTable(endpoints: readonly Endpoint[]): string {
  const headings = ['ENDPOINT', 'URL', 'STATE', 'FAILING SINCE', 'BEHIND', 'FAILED'];
  const rows = endpoints.map((endpoint) => {
    const { id, url, failing_since, changes_behind, changes_failed } = endpoint;
    const since = failing_since ?? undefined;
    return [id, url, stateOf(endpoint), since, changes_behind, changes_failed];
  });
  return table(headings, rows);
}

function stateOf({ paused, failing_since }: Endpoint): string {
  if (paused !== null) return `paused (${paused})`;
  return failing_since === null ? 'active' : 'failing';
}

function deliveriesText({ attempts, failed }: Deliveries): string {
  const attempted = attempts.map(({ attempted_at, message_id, events, duration_ms, failure }) => {
    return [attempted_at, message_id, events, duration_ms, failure ?? 'delivered'];
  });
  const given = failed.map(({ position, instance_id, failed_at, failure }) => {
    return [position, instance_id, failed_at, failure];
  });
  return [
    attempted.length === 0
      ? 'The engine has made no attempt since it took over the account.'
      : table(['ATTEMPTED', 'MESSAGE', 'EVENTS', 'MS', 'OUTCOME'], attempted),
    given.length === 0
      ? 'No change has failed.'
      : table(['POSITION', 'INSTANCE', 'FAILED', 'CAUSE'], given),
  ].join('\n\n');
}
