import assert from 'node:assert/strict';
import { ENDPOINTS } from '#edge/endpoints/all';
import {
  type Call,
  endpointOf,
  type Json,
  RAW_METHOD,
  type WireCase,
  type WireRequest,
} from '#test/clients/cases/wire-case';

/** Placeholder for a client's idempotency key: the same UUIDv7 in all requests of a case. */
export const ANY_KEY = '{uuid7}';

/** Placeholder for a client's name and version. */
const ANY_CLIENT = '{client}';

/** Call options that become request headers. */
const OPTION_HEADERS: Readonly<Record<string, string>> = {
  idempotency_key: 'idempotency-key',
  if_match: 'if-match',
  if_none_match: 'if-none-match',
  request_id: 'x-request-id',
};

/** Request that a client with these options must send for a call. */
export function requestOfCall(call: Call, client: WireCase['client'] = {}): WireRequest {
  const request = call.method === RAW_METHOD ? rawRequest(call) : endpointRequest(call);
  const agent = `${ANY_CLIENT} ${client['application']}`;
  const headers = {
    ...request.headers,
    ...(client['application'] === undefined ? {} : { 'user-agent': agent }),
    ...inLowerCase(client['headers']),
    ...inLowerCase(call.options?.['headers']),
  };
  return { ...request, headers };
}

function inLowerCase(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  const pairs = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return Object.fromEntries(pairs);
}

/** Request of `client.request`, which has an idempotency key only if the caller gives a key. */
function rawRequest({ arguments: given = {}, options = {} }: Call): WireRequest {
  const { method, path, query = {}, body } = given;
  return {
    ...{ method, path: `/v1${path}`, query: textsOf(query) },
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      'idempotency-key': null,
      ...headersOf(options),
    },
    ...(body === undefined ? {} : { body }),
  };
}

function endpointRequest(call: Call): WireRequest {
  const endpoint = ENDPOINTS.find(({ name }) => name === endpointOf(call));
  assert.ok(endpoint, call.method);
  const { id, ...all } = call.arguments ?? {};
  const { given, headers } = streamed(call.method, all);
  const path = endpoint.path.replace(':id', encodeURIComponent(call.instance ?? id ?? ''));
  const hasBody = endpoint.body !== undefined;
  const query = hasBody ? {} : given;
  const key = endpoint.isKeyed ? { 'idempotency-key': ANY_KEY } : {};
  const noKey = !endpoint.isKeyed && endpoint.method !== 'GET' ? { 'idempotency-key': null } : {};
  return {
    method: endpoint.method,
    path: `/v1${path}`,
    query: textsOf(query),
    headers: {
      ...(hasBody ? { 'content-type': 'application/json' } : {}),
      ...key,
      ...noKey,
      ...headers,
      ...headersOf(call.options ?? {}),
    },
    ...(hasBody ? { body: call.method === 'instance.process' ? given['observation'] : given } : {}),
  };
}

/**
 * Arguments of a call without the position in a stream, and the headers of a stream. A stream with a
 * position sends the same header as a resumed stream.
 */
function streamed(method: Call['method'], all: Readonly<Record<string, Json>>) {
  const { cursor, after, ...given } = all;
  const position = cursor ?? after;
  const headers = position === undefined ? {} : { 'last-event-id': String(position) };
  if (method === 'instance.events') return { given, headers };
  // The same path without this header answers a page.
  const accept = 'text/event-stream';
  return method === 'events.follow' ? { given, headers: { accept, ...headers } } : { given: all };
}

function textsOf(query: Readonly<Record<string, Json>>): Record<string, string> {
  const { tags = {}, ...rest } = query;
  const wanted = Object.entries(tags).map(([key, value]) => [`tag.${key}`, value] as const);
  const all = [...Object.entries(rest), ...wanted];
  return Object.fromEntries(all.map(([name, value]) => [name, String(value)]));
}

function headersOf(options: Readonly<Record<string, Json>>): Record<string, string> {
  const named = Object.entries(options).flatMap(([option, value]) => {
    const header = OPTION_HEADERS[option];
    return header === undefined ? [] : [[header, value]];
  });
  const strict = options['strict'] === true ? { prefer: 'handling=strict' } : {};
  return { ...Object.fromEntries(named), ...strict };
}
