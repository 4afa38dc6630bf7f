import type { Directory } from '#engine/directory';
import type { DirectoryCall } from '#engine/directory-kind';
import { type Fault, faultFor, toFault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import { traced } from '#platform/traceparent';
import type { ListingStore } from '#storage/listing-store';
import {
  type EngineAnswer,
  type EngineCall,
  type EngineClient,
  type PeerCommand,
  plainAnswer,
  unnamedCall,
} from '#wire/engine-messages';
import { CALL_TIMEOUT_MS_MAX } from '#wire/wire-bounds';

/** What an instance sends to its account's directory. */
type ToDirectory = Extract<
  PeerCommand,
  { kind: 'putListingRow' | 'removeListingRow' | 'reservePlace' }
>;

/** The answer of a directory that has taken the command. */
export const NOTIFIED: EngineAnswer = plainAnswer('');

/**
 * The directory as instances see it, wherever it lives: the row is stored first, then the owner of
 * the account's shard is notified. Throws `service_unavailable` when either cannot be reached in 10
 * s. Source: architecture 3.6.
 */
export function remoteDirectory(
  store: ListingStore,
  engine: EngineClient,
  clock: Clock,
): Directory {
  async function notify(
    accountId: string,
    instanceId: string,
    command: ToDirectory,
    traceparent: string | undefined,
  ): Promise<void> {
    const deadlineAtMs = clock.wallMs() + CALL_TIMEOUT_MS_MAX;
    const call = unnamedCall({ accountId, instanceId, deadlineAtMs, command });
    await engine.ask(traced(call, traceparent));
  }
  return {
    async put(accountId, row, traceparent) {
      const { instanceId, version, name, description, createdAtMs } = row;
      await store.put(accountId, row);
      const change = { kind: 'putListingRow', version, name, description, createdAtMs } as const;
      await notify(accountId, instanceId, change, traceparent);
    },
    async reserve(accountId, instanceId, instancesMax, traceparent) {
      const place = { kind: 'reservePlace', instancesMax } as const;
      await notify(accountId, instanceId, place, traceparent).catch((error) => {
        throw notReserved(toFault(error));
      });
    },
    async remove(accountId, instanceId, version, traceparent) {
      await store.remove(accountId, instanceId, version);
      const gone = { kind: 'removeListingRow', version } as const;
      await notify(accountId, instanceId, gone, traceparent);
    },
  };
}

/** The call to the account's directory, on the engine that owns it. */
export function directoryCall(call: EngineCall, command: ToDirectory): DirectoryCall {
  return traced(untraced(call, command), call.traceparent);
}

function untraced(
  { accountId, instanceId, callId, deadlineAtMs }: EngineCall,
  command: ToDirectory,
): DirectoryCall {
  switch (command.kind) {
    case 'putListingRow': {
      const { version, name, createdAtMs } = command;
      const row = { instanceId, version, name, createdAtMs };
      return { kind: 'put', accountId, row, callId, deadlineAtMs };
    }
    case 'removeListingRow':
      return { kind: 'remove', instanceId, version: command.version, callId, deadlineAtMs };
    case 'reservePlace': {
      const { instancesMax } = command;
      return { kind: 'reserve', instanceId, instancesMax, callId, deadlineAtMs };
    }
  }
}

/** Whatever became of the place, nothing has been created. */
function notReserved(fault: Fault): Fault {
  if (fault.code !== 'service_unavailable') return fault;
  const reason = fault.reason === 'overloaded' ? 'overloaded' : 'engine_unavailable';
  return faultFor(reason, 'the listing of the account cannot be reached', {
    retryAfterS: 1,
    cause: fault,
  });
}
