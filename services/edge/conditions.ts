import { invalid } from '#fault/fault';

/**
 * `*`, or a list of entity tags (RFC 9110, 8.8.3 and 13.1). The API document shows it as it stands.
 */
export const CONDITION =
  /^(?:\*|(?:W\/)?"[!#-~\x80-\xff]*"(?:[ \t]*,[ \t]*(?:W\/)?"[!#-~\x80-\xff]*")*)$/;

/** Entity tags named in one header; no honest cache has more. */
export const CONDITION_LENGTH_MAX = 1_024;

/** The `If-Match` header as sent. Throws `invalid_request` (400) if it is none. Source: decision 21. */
export function readIfMatch(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (header.length > CONDITION_LENGTH_MAX || !CONDITION.test(header)) {
    throw invalid('invalid_header', 'If-Match', 'If-Match: an ETag in quotes, or *');
  }
  return header;
}

/** Whether `If-None-Match` says that the caller has this answer already. Malformed ones say nothing. */
export function isKnownToCaller(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined || etag === '') return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

/** Whether the caller's `Prefer` header (RFC 7240) holds a preference such as `handling=strict`. */
export function isPreferred(prefer: string | string[] | undefined, preference: string): boolean {
  if (prefer === undefined) return false;
  const sent = Array.isArray(prefer) ? prefer.join(',') : prefer;
  return sent.split(',').some((part) => {
    const [token = ''] = part.split(';');
    return token.replaceAll(/[\s"]/g, '').toLowerCase() === preference;
  });
}
