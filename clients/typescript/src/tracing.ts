/** The part of the global object of `@opentelemetry/api` that this package uses. */
type TracingApi = {
  readonly context?: { active(): unknown };
  readonly propagation?: {
    inject(context: unknown, carrier: Record<string, string>, setter: Setter): void;
  };
};

/**
 * Where every copy of `@opentelemetry/api` 1.x keeps what an application has registered. Reading it needs no
 * import, so the context also goes along in a bundle, whether or not the bundle has a copy of that package.
 */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');

/** The context of an application that has registered a propagator and no context manager: an empty one. */
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
 * Adds the active context of OpenTelemetry to headers (`traceparent` and what else its propagator writes), if
 * the application has registered a propagator.
 */
export function injectContext(headers: Record<string, string>): void {
  const api = (globalThis as { [REGISTERED]?: TracingApi })[REGISTERED];
  if (api?.propagation === undefined) return;
  try {
    api.propagation.inject(api.context?.active() ?? EMPTY_CONTEXT, headers, setter);
  } catch {
    // A propagator that fails is no reason for the call to fail.
  }
}
