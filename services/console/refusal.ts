import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { faultOfParser } from '#edge/broken-http';
import { faultReply } from '#edge/fault-reply';
import { requestIdFrom } from '#edge/request-id';
import { Fault, invalid } from '#fault/fault';

/** A refusal in the envelope of interface 7; its headers say nothing of API keys. */
export function refusalOf(fault: Fault, requestId: string) {
  const { status, headers, body } = faultReply(fault, requestId);
  const { 'www-authenticate': _, ...others } = headers;
  return { status, headers: others, body };
}

/** What of the errors of the web framework a page can be at fault for. */
export function faultOfFramework(error: { readonly code?: string; readonly statusCode?: number }) {
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return invalid('body_too_large', undefined, 'the body is too large');
  }
  const isOfCaller = (error.statusCode ?? 500) < 500 && error.code?.startsWith('FST_ERR_');
  return isOfCaller
    ? invalid('malformed_request', undefined, 'the request cannot be read')
    : undefined;
}

/** Answers bytes that are no request, and cuts the connection. */
export function refuseBytes(
  error: Error & { code?: string },
  socket: Duplex,
  safety: Readonly<Record<string, string>>,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, headers, body } = refusalOf(faultOfParser(error.code), requestIdFrom(undefined));
  const all = {
    ...safety,
    ...headers,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('\r\n')}`;
  socket.end(`${head}\r\n\r\n${body}`);
}

/** The refusal of a path that leads nowhere. */
export function nothingHere(): Fault {
  return new Fault('not_found', 'there is nothing here');
}
