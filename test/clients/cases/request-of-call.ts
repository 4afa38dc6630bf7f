import assert from 'node:assert/strict';
import { ENDPOINTS } from '#edge/endpoints/all';
import { type Call, type Json, METHODS, type WireRequest } from '#test/clients/cases/wire-case';

/** Placeholder for a client's idempotency key: the same UUIDv7 in all requests of a case. */
export const ANY_KEY = '{uuid7}';

/** Call options that become request headers. */
const OPTION_HEADERS: Readonly<Record<string, string>> = {
  idempotency_key: 'idempotency-key',
  if_match: 'if-match',
  if_none_match: 'if-none-match',
  request_id: 'x-request-id',
};

/** Request that a client must send for a call. */
export function requestOfCall(call: Call): WireRequest {
  const endpoint = ENDPOINTS.find(({ name }) => name === METHODS[call.method]);
  assert.ok(endpoint, call.method);
  const { id, after, ...given } = call.arguments ?? {};
  const path = endpoint.path.replace(':id', encodeURIComponent(call.instance ?? id ?? ''));
  const hasBody = endpoint.body !== undefined;
  const query = hasBody ? {} : given;
  const key = endpoint.isKeyed ? { 'idempotency-key': ANY_KEY } : {};
  const noKey = !endpoint.isKeyed && endpoint.method !== 'GET' ? { 'idempotency-key': null } : {};
  return {
    method: endpoint.method,
    path: `/v1${path}`,
    query: Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)])),
    headers: {
      ...(hasBody ? { 'content-type': 'application/json' } : {}),
      ...key,
      ...noKey,
      // A stream with `after` sends the same header as a resumed stream.
      ...(after === undefined ? {} : { 'last-event-id': String(after) }),
      ...headersOf(call.options ?? {}),
    },
    ...(hasBody ? { body: call.method === 'instance.process' ? given['observation'] : given } : {}),
  };
}

function headersOf(options: Readonly<Record<string, Json>>): Record<string, string> {
  const named = Object.entries(options).flatMap(([option, value]) => {
    const header = OPTION_HEADERS[option];
    return header === undefined ? [] : [[header, value]];
  });
  const strict = options['strict'] === true ? { prefer: 'handling=strict' } : {};
  return { ...Object.fromEntries(named), ...strict };
}
