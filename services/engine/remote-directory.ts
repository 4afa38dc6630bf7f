import type { Directory } from '#engine/directory';
import type { DirectoryCall } from '#engine/directory-kind';
import { Fault, toFault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { ListingStore } from '#storage/listing-store';
import type { EngineAnswer, EngineCall, EngineClient, PeerCommand } from '#wire/engine-messages';
import { CALL_TIMEOUT_MS_MAX } from '#wire/wire-bounds';

/** What an instance tells its account's directory. */
type Tell = Extract<PeerCommand, { kind: 'putListingRow' | 'removeListingRow' | 'reservePlace' }>;

/** The answer to a tell: it has been heard. */
export const TOLD: EngineAnswer = {
  body: '',
  etag: '',
  cycles: 0,
  throttledRetryAfterS: 0,
  isReplayed: false,
};

/**
 * The directory as instances see it, wherever it lives: the row is stored first, then the owner of
 * the account's shard is told. Throws `service_unavailable` when either cannot be reached in 10 s.
 * Source: architecture 3.6.
 */
export function remoteDirectory(
  store: ListingStore,
  engine: EngineClient,
  clock: Clock,
): Directory {
  async function tell(accountId: string, instanceId: string, command: Tell): Promise<void> {
    await engine.ask({
      accountId,
      instanceId,
      callId: 0,
      deadlineAtMs: clock.wallMs() + CALL_TIMEOUT_MS_MAX,
      idempotency: undefined,
      isReplayOnly: false,
      ifMatch: undefined,
      command,
    });
  }
  return {
    async put(accountId, row) {
      const { instanceId, version, name, description, createdAtMs } = row;
      await store.put(accountId, row);
      const told = { kind: 'putListingRow', version, name, description, createdAtMs } as const;
      await tell(accountId, instanceId, told);
    },
    reserve: (accountId, instanceId, instancesMax) =>
      tell(accountId, instanceId, { kind: 'reservePlace', instancesMax }).catch((error) => {
        throw notReserved(toFault(error));
      }),
    async remove(accountId, instanceId, version) {
      await store.remove(accountId, instanceId, version);
      await tell(accountId, instanceId, { kind: 'removeListingRow', version });
    },
  };
}

/** A tell as the account's directory takes it, on the engine that owns it. */
export function toldCall(
  { accountId, instanceId, callId, deadlineAtMs }: EngineCall,
  tell: Tell,
): DirectoryCall {
  switch (tell.kind) {
    case 'putListingRow': {
      const { version, name, createdAtMs } = tell;
      const row = { instanceId, version, name, createdAtMs };
      return { kind: 'put', accountId, row, callId, deadlineAtMs };
    }
    case 'removeListingRow':
      return { kind: 'remove', instanceId, version: tell.version, callId, deadlineAtMs };
    case 'reservePlace': {
      const { instancesMax } = tell;
      return { kind: 'reserve', instanceId, instancesMax, callId, deadlineAtMs };
    }
  }
}

/** Whatever became of the place, nothing has been created. */
function notReserved(fault: Fault): Fault {
  if (fault.code !== 'service_unavailable') return fault;
  return new Fault('service_unavailable', 'the listing of the account cannot be reached', {
    reason: fault.reason === 'overloaded' ? 'overloaded' : 'engine_unavailable',
    retryAfterS: 1,
    cause: fault,
  });
}
