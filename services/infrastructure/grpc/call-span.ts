import { FAULTS, type FaultCode } from '#errors/error-codes';
import { toFault } from '#errors/fault';
import { isSampled, type Span, type Traced, type Tracer, traced } from '#telemetry/tracer';

/** Names of a protocol that appear in the spans of its calls. */
type CallProtocol<Call> = {
  readonly name: string;
  readonly exchangePath: string;
  nameOf(call: Call): string;
};

/** Trace context of a received call: its own span, or the caller's traceparent. */
export type CallTrace = {
  readonly span?: Span | undefined;
  readonly traceparent?: string | undefined;
  /** Whether the duration of the call is measured. */
  readonly isMeasured: boolean;
};

/** Trace of a call without trace context. */
export const UNTRACED: CallTrace = { isMeasured: true };

/** Trace context of a received call on the server. Begins a span if the trace is sampled. */
export function traceOf<Call extends Traced>(
  tracer: Tracer | undefined,
  protocol: CallProtocol<Call> & { waits(call: Call): boolean },
  call: Call,
): CallTrace {
  const isMeasured = !protocol.waits(call);
  const { traceparent: asking } = call;
  if (asking === undefined) return isMeasured ? UNTRACED : { isMeasured };
  const span = serverSpan(tracer, protocol, call);
  return { span, traceparent: span?.traceparent ?? asking, isMeasured };
}

/** Span of a call on the client. Undefined unless its trace is sampled. */
export function clientSpan<Call extends Traced>(
  tracer: Tracer | undefined,
  protocol: CallProtocol<Call>,
  call: Call,
  address: string,
): Span | undefined {
  const { traceparent } = call;
  if (tracer === undefined || traceparent === undefined || !isSampled(traceparent))
    return undefined;
  const colon = address.lastIndexOf(':');
  return tracer.child(traceparent, {
    name: `${protocol.name}/${protocol.nameOf(call)}`,
    kind: 'client',
    attributes: {
      ...callAttributes(protocol),
      'server.address': address.slice(0, colon),
      'server.port': Number(address.slice(colon + 1)),
    },
  });
}

/** Span of a call on the server. Undefined unless its trace is sampled. */
function serverSpan<Call extends Traced>(
  tracer: Tracer | undefined,
  protocol: CallProtocol<Call>,
  call: Call,
): Span | undefined {
  const { traceparent } = call;
  if (tracer === undefined || traceparent === undefined || !isSampled(traceparent))
    return undefined;
  const name = `${protocol.name}/${protocol.nameOf(call)}`;
  return tracer.child(traceparent, { name, kind: 'server', attributes: callAttributes(protocol) });
}

/** Runs `ask` within a server span, if the trace is sampled, until the answer. */
export async function inServerSpan<Call extends Traced, Answer>(
  tracer: Tracer | undefined,
  protocol: CallProtocol<Call>,
  call: Call,
  ask: (call: Call) => Promise<Answer>,
): Promise<Answer> {
  const span = serverSpan(tracer, protocol, call);
  if (span === undefined) return await ask(call);
  try {
    const answer = await ask(traced(call, span.traceparent));
    endCallSpan(span, 'ok');
    return answer;
  } catch (error) {
    endCallSpan(span, toFault(error).code);
    throw error;
  }
}

/**
 * Ends the span of a call. Only outcomes with an HTTP status from 500 on are errors of the span.
 */
export function endCallSpan(span: Span, outcome: 'ok' | FaultCode): void {
  const isError = outcome !== 'ok' && FAULTS[outcome].http >= 500;
  const attributes = { 'identity.outcome': outcome };
  span.end({ attributes, error: isError ? outcome : undefined });
}

/** `rpc.method` names the stream; the span's name has the kind of call inside the stream. */
function callAttributes({ exchangePath }: { readonly exchangePath: string }) {
  return { 'rpc.system.name': 'grpc', 'rpc.method': exchangePath.slice(1) };
}
