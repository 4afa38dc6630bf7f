import type * as grpc from '@grpc/grpc-js';
import { losesItsCause } from '#wire/fault-codec';
import { statusOfError } from '#wire/tool-status';
import type { WireService } from '#wire/wire-service';

/** A unary method of `proto/`, and what answers it. */
export type Tool<Request, Reply> = {
  /** As the generated service has it: `usage`. */
  readonly name: string;
  readonly method: grpc.MethodDefinition<Request, Reply>;
  readonly answer: (request: Request) => Promise<Reply>;
};

/**
 * `service` with one more unary method. It answers also while the service drains: an operator looks
 * most closely then. A fault is a gRPC status; what is none is reported and told as `internal`.
 */
export function withTool<Request, Reply>(
  service: WireService,
  { name, method, answer }: Tool<Request, Reply>,
  reportBug: (error: unknown) => void,
): WireService {
  const handler: grpc.handleUnaryCall<Request, Reply> = ({ request }, respond) => {
    answer(request).then(
      (reply) => respond(null, reply),
      (error: unknown) => {
        if (losesItsCause(error)) reportBug(error);
        respond(statusOfError(error));
      },
    );
  };
  return {
    ...service,
    definition: { ...service.definition, [name]: method },
    implementation: { ...service.implementation, [name]: handler },
  };
}
