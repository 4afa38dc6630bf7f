/** What is used of `@opentelemetry/api`. */
type TracingApi = {
  readonly context: { active(): unknown };
  readonly propagation: { inject(context: unknown, carrier: Record<string, string>): void };
};

/** Not a literal, so that neither the compiler nor a bundler asks for a package that may be absent. */
const PACKAGE: string = '@opentelemetry/api';

let api: TracingApi | undefined;

/** Settles once it is known whether the package is there. Never rejects. */
const looked: Promise<void> = import(PACKAGE).then(
  (found: TracingApi) => {
    api = found;
  },
  () => undefined,
);
let isKnown = false;

/**
 * Adds the active context of OpenTelemetry to headers (`traceparent` and what else its propagator writes), if
 * its API package is installed. Its registered propagator decides; without one this does nothing.
 */
export async function injectContext(headers: Record<string, string>): Promise<void> {
  if (!isKnown) {
    await looked;
    isKnown = true;
  }
  api?.propagation.inject(api.context.active(), headers);
}
