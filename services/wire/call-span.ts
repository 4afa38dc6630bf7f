import { FAULTS, type FaultCode } from '#fault/error-codes';
import { toFault } from '#fault/fault';
import { isSampled, type Span, type Traced, type Tracer, traced } from '#platform/tracer';

/** What a call's span says of the service that is asked. */
type CallProtocol<Call> = {
  readonly name: string;
  readonly exchangePath: string;
  nameOf(call: Call): string;
};

/** What came with a call, for whatever is said of it: its own span, or the one that asked. */
export type CallTrace = {
  readonly span?: Span | undefined;
  readonly traceparent?: string | undefined;
  /** Whether how long the call takes is measured. */
  readonly isMeasured: boolean;
};

/** Of a call of which nothing is known. */
export const UNTRACED: CallTrace = { isMeasured: true };

/** What is known of a call as the one who answers it sees it; begins its span, if it has one. */
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

/** The span of a call as the one who asks sees it; undefined unless its trace is recorded. */
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

/** The same as the one who answers sees it. */
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

/** Asks on behalf of the call's own span, if it has one, which lasts until the answer. */
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

/** Ends the span of a call; a refusal that is the caller's own is no error of the service. */
export function endCallSpan(span: Span, outcome: 'ok' | FaultCode): void {
  const isError = outcome !== 'ok' && FAULTS[outcome].http >= 500;
  const attributes = { 'identity.outcome': outcome };
  span.end({ attributes, error: isError ? outcome : undefined });
}

/** `rpc.method` is the stream's: what travels in it is ours, and in the span's name. */
function callAttributes({ exchangePath }: { readonly exchangePath: string }) {
  return { 'rpc.system.name': 'grpc', 'rpc.method': exchangePath.slice(1) };
}
