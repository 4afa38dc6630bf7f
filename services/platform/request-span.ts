import type { Span } from '#platform/tracer';

/**
 * Ends the span of an HTTP request, with what OpenTelemetry's conventions have for one; `route` is a
 * template. Path and address of the caller are left out: they name an instance, and a person.
 */
export function endRequestSpan(span: Span, method: string, route: string, status: number): void {
  span.end({
    name: `${method} ${route}`,
    attributes: {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      'url.scheme': 'http',
      'network.protocol.version': '1.1',
    },
    error: status >= 500 ? String(status) : undefined,
  });
}
