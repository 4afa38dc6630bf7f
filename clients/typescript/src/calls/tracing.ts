/** Part of the `@opentelemetry/api` global object that this client uses. */
type TracingApi = {
  readonly context?: { active(): unknown };
  readonly propagation?: {
    inject(context: unknown, carrier: Record<string, string>, setter: Setter): void;
  };
};

/**
 * Global symbol under which every copy of `@opentelemetry/api` 1.x stores its registrations.
 * Reading the symbol needs no import, so the trace context also propagates from a bundle.
 */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');

/** Empty context, for an application with a propagator but no context manager. */
const EMPTY_CONTEXT = {
  getValue: () => undefined,
  setValue: () => EMPTY_CONTEXT,
  deleteValue: () => EMPTY_CONTEXT,
};

type Setter = { set(carrier: Record<string, string>, name: string, value: string): void };

const setter: Setter = {
  set(carrier, name, value) {
    carrier[name] = value;
  },
};

/**
 * Adds the active OpenTelemetry context to headers (`traceparent` and other headers of the
 * propagator), if the application registered a propagator.
 */
export function injectContext(headers: Record<string, string>): void {
  const api = (globalThis as { [REGISTERED]?: TracingApi })[REGISTERED];
  if (api?.propagation === undefined) return;
  try {
    api.propagation.inject(api.context?.active() ?? EMPTY_CONTEXT, headers, setter);
  } catch {
    // Ignore a failing propagator.
  }
}
