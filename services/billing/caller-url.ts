import { invalid } from '#fault/fault';
import { isLoopbackHost } from '#platform/loopback';

/** Characters of a URL that a caller gives. Source: what browsers and proxies bear. */
const URL_LENGTH_MAX = 2_048;

/**
 * Throws `invalid_request` for a URL to which no person's browser should be sent back after a
 * payment: https alone, http on its own machine. No part of the service fetches it (attacks, API7).
 */
export function assertCallerUrl(field: string, text: string): void {
  if (text.length > URL_LENGTH_MAX) {
    throw invalid('too_long', field, `${field} has more than ${URL_LENGTH_MAX} characters`);
  }
  const url = URL.parse(text);
  const isSafe =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.host));
  if (url === null || !isSafe) {
    throw invalid('invalid_text', field, `${field} must be an https URL`);
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid('invalid_text', field, `${field} must not name a user`);
  }
}
