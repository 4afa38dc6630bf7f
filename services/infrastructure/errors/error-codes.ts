/**
 * Closed set of error codes, and the only mapping of a code to HTTP and gRPC status. Some reasons
 * override the HTTP status (`error-reasons`). Source: interface 7, decision 2.
 *
 * To add a code, add a row; TypeScript then reports every switch to extend. `grpc` is the numeric
 * gRPC status. `isRetryable` is for callers and for the edge itself. The last three codes belong to
 * billing (decision 248).
 */
export const FAULTS = {
  unauthorized: { http: 401, grpc: 16, isRetryable: false },
  forbidden: { http: 403, grpc: 7, isRetryable: false },
  not_found: { http: 404, grpc: 5, isRetryable: false },
  invalid_request: { http: 422, grpc: 3, isRetryable: false },
  conflict: { http: 409, grpc: 10, isRetryable: true },
  throttled: { http: 429, grpc: 8, isRetryable: true },
  rate_limited: { http: 429, grpc: 8, isRetryable: true },
  quota_exceeded: { http: 429, grpc: 8, isRetryable: false },
  service_unavailable: { http: 503, grpc: 14, isRetryable: true },
  internal: { http: 500, grpc: 13, isRetryable: true },
  billing_provider_not_configured: { http: 500, grpc: 9, isRetryable: false },
  webhook_verification_failed: { http: 400, grpc: 3, isRetryable: false },
  invalid_plan: { http: 422, grpc: 3, isRetryable: false },
} as const satisfies Record<string, { http: number; grpc: number; isRetryable: boolean }>;

/** An error code of interface 7. */
export type FaultCode = keyof typeof FAULTS;
