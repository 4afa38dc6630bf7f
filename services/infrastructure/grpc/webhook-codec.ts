/* Commands about webhook endpoints on the wire. */
import { TOKEN_LENGTH_MAX } from '#grpc/call-bounds';
import {
  REDELIVERIES_MAX,
  WEBHOOK_ACTIONS,
  type WebhookCommand,
  type WebhookSettings,
} from '#grpc/engine-messages';
import { brokenMessage, trustInteger, trustText, unknownCall } from '#grpc/frame';
import type { WebhookCommand as WireWebhook } from '#grpc/gen/identity_engine/v1/engine';

/** Maximum length of a text, in UTF-16 units: an address of 2,048 code points. */
const TEXT_LENGTH_MAX = 4_096;
/** All types, as bits of a 32-bit integer. */
const TYPES_MAX = 2 ** 31 - 1;
/** Maximum number of changes in a message. */
const ROWS_MAX = 100;
/** Upper bound for the numbers of a command, in bytes, rounded up. */
const POSITION_BYTES = 10;

/** Encodes a command for `proto/`. */
export function webhookToWire(command: WebhookCommand): WireWebhook {
  const { endpointId, action, settings, positions } = command;
  const { url, description, types, rowsMax, isPaused, sealedSecret } = settings;
  return {
    action: WEBHOOK_ACTIONS.indexOf(action),
    ...{ endpointId, url, description, types, rowsMax, sealedSecret },
    paused: isPaused,
    positions: [...positions],
  };
}

/**
 * Decodes a command. Throws `upgrade_in_progress` for an action of a later release, and `internal`
 * for a value out of bounds.
 */
export function webhookFromWire(wire: WireWebhook): WebhookCommand {
  const action = WEBHOOK_ACTIONS[wire.action];
  if (action === undefined) throw unknownCall();
  const idLengthMin = action === 'list' ? 0 : 1;
  trustInteger(wire.positions.length, 0, REDELIVERIES_MAX, 'number of positions');
  for (const position of wire.positions) {
    trustInteger(position, 0, Number.MAX_SAFE_INTEGER, 'position');
  }
  return {
    kind: 'webhook',
    action,
    endpointId: trustText(wire.endpointId, idLengthMin, TOKEN_LENGTH_MAX, 'endpoint id'),
    settings: settingsOf(action, wire),
    positions: wire.positions,
  };
}

/** Decodes settings. A new endpoint needs an address and a secret. */
function settingsOf(action: string, wire: WireWebhook): WebhookSettings {
  const settings = settingsFromWire(wire);
  if (action !== 'create') return settings;
  if (settings.url === undefined || settings.sealedSecret === undefined) {
    throw brokenMessage('a new endpoint without address or secret');
  }
  return settings;
}

function settingsFromWire(wire: WireWebhook): WebhookSettings {
  const { url, description, types, rowsMax, paused, sealedSecret } = wire;
  const text = (value: string, what: string) => trustText(value, 0, TEXT_LENGTH_MAX, what);
  return {
    ...(url === undefined ? {} : { url: text(url, 'address') }),
    ...(description === undefined ? {} : { description: text(description, 'description') }),
    ...(types === undefined ? {} : { types: trustInteger(types, 1, TYPES_MAX, 'types') }),
    ...(rowsMax === undefined
      ? {}
      : { rowsMax: trustInteger(rowsMax, 1, ROWS_MAX, 'changes in a message') }),
    ...(paused === undefined ? {} : { isPaused: paused }),
    ...(sealedSecret === undefined ? {} : { sealedSecret: text(sealedSecret, 'sealed secret') }),
  };
}

/** Upper bound for the length of a command on the wire, in UTF-16 units. */
export function webhookLength({ endpointId, settings, positions }: WebhookCommand): number {
  const { url = '', description = '', sealedSecret = '' } = settings;
  const text = endpointId.length + url.length + description.length + sealedSecret.length;
  return text + positions.length * POSITION_BYTES;
}
