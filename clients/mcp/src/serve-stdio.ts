import type {
  JSONRPCMessage,
  JSONRPCRequest,
  McpServer,
  RequestId,
  Transport,
} from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { type ContractWatches, listenedUris, Subscriptions } from './contract-watch.ts';
import { report, resourceFailure } from './failures.ts';
import { mcpServer } from './mcp-server.ts';
import type { Session } from './session.ts';

/**
 * Maximum size of the messages that wait for processing, in bytes. A large call has 10 KiB. The
 * transport closes if a client sends more.
 */
const BUFFER_BYTES_MAX = 1_048_576;

/** Maximum number of calls at once. Above, the server reads no further messages. */
const CALLS_AT_ONCE = 100;

/**
 * Serves one session on standard input and output, in either protocol era. Resolves when the client
 * closes standard input, and rejects if the server can no longer read or write. Only JSON-RPC
 * messages go to standard output.
 */
export async function serveOnStdio(session: Session, watches: ContractWatches): Promise<void> {
  const wire = new StdioServerTransport(process.stdin, process.stdout, {
    maxBufferSize: BUFFER_BYTES_MAX,
  });
  let current: McpServer | undefined;
  const subscriptions = new Subscriptions(session, watches, (uri) => {
    current?.server.sendResourceUpdated({ uri }).catch(report);
  });
  const closed = new Promise<void>((resolve) => {
    serveStdio(
      ({ era }) => {
        current = mcpServer(session, true);
        if (era === 'legacy') serveLegacySubscriptions(current, subscriptions);
        return current;
      },
      { transport: listeningTransport(wire, subscriptions, resolve), onerror: report },
    );
  });
  await closed;
  subscriptions.close();
  if (process.stdin.readableEnded) return;
  throw new Error(
    `standard input or output broke, or a message exceeded ${BUFFER_BYTES_MAX} bytes: start again`,
  );
}

/** Requests of the 2025 protocol, which the SDK does not serve. */
function serveLegacySubscriptions({ server }: McpServer, subscriptions: Subscriptions): void {
  server.setRequestHandler('resources/subscribe', async ({ params: { uri } }) => {
    try {
      await subscriptions.add(uri, [uri]);
      return {};
    } catch (error) {
      throw resourceFailure(error, uri);
    }
  });
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscriptions.remove(uri);
    return {};
  });
}

/**
 * Transport that opens the subscriptions of `subscriptions/listen` before the SDK acknowledges the
 * request, because the SDK reports neither the URIs nor the end of a subscription.
 */
function listeningTransport(
  wire: StdioServerTransport,
  subscriptions: Subscriptions,
  onClose: () => void,
): Transport {
  const calls = new Set<RequestId>();
  const ended = (id: RequestId | undefined) => {
    if (id === undefined || !calls.delete(id)) return;
    if (calls.size < CALLS_AT_ONCE) process.stdin.resume();
  };
  const transport: Transport = {
    start: () => wire.start(),
    send: async (message) => {
      // The only response to `subscriptions/listen` is a refusal, or the end of the subscription.
      if (!('method' in message)) subscriptions.remove(message.id);
      await wire.send(message);
      if (!('method' in message)) ended(message.id);
    },
    close: () => wire.close(),
  };
  const listen = async (message: JSONRPCMessage, id: RequestId, uris: readonly string[]) => {
    try {
      if (await subscriptions.add(id, uris)) transport.onmessage?.(message);
    } catch (error) {
      const { code, message, data } = resourceFailure(error, uris[0] ?? '');
      await wire.send({ jsonrpc: '2.0', id, error: { code, message, data } }).catch(report);
    }
  };
  wire.onmessage = (message) => {
    const uris = listenedUris(message);
    if (uris.length > 0 && 'id' in message && message.id !== undefined) {
      void listen(message, message.id, uris);
      return;
    }
    if ('method' in message && message.method === 'notifications/cancelled') {
      subscriptions.remove(message.params?.['requestId'] as RequestId);
      // A cancelled call has no answer.
      ended(message.params?.['requestId'] as RequestId);
    }
    if (isCall(message)) {
      calls.add(message.id);
      if (calls.size >= CALLS_AT_ONCE) process.stdin.pause();
    }
    transport.onmessage?.(message);
  };
  wire.onerror = (error) => transport.onerror?.(error);
  wire.onclose = () => {
    transport.onclose?.();
    onClose();
  };
  return transport;
}

/** Whether a message is a request with an answer that comes soon. */
function isCall(message: JSONRPCMessage): message is JSONRPCRequest {
  return 'method' in message && 'id' in message && message.method !== 'subscriptions/listen';
}
