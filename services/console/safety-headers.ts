/** Pages and scripts of this origin alone, with no inline code and in no frame. Source: decision 245. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

const ALWAYS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

/** How long a browser speaks TLS only to a host that has done so: a year. Not for other names below it. */
const TRANSPORT_SECURITY = 'max-age=31536000';

/** What every answer of the console has, whatever became of the request. */
export function safetyHeaders(isSecure: boolean): Readonly<Record<string, string>> {
  return isSecure ? { ...ALWAYS, 'strict-transport-security': TRANSPORT_SECURITY } : ALWAYS;
}
