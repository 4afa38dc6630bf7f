import type * as grpc from '@grpc/grpc-js';
import { losesItsCause, statusOfError } from '#wire/fault-codec';

/**
 * The handler of a unary method that `answer` answers. A fault is a gRPC status; any other error is
 * reported and answered as `internal`.
 */
export function unaryHandler<Request, Reply>(
  answer: (request: Request, metadata: grpc.Metadata) => Promise<Reply>,
  reportBug: (error: unknown) => void,
): grpc.handleUnaryCall<Request, Reply> {
  return ({ request, metadata }, respond) => {
    answer(request, metadata).then(
      (reply) => respond(null, reply),
      (error: unknown) => {
        if (losesItsCause(error)) reportBug(error);
        respond(statusOfError(error));
      },
    );
  };
}
