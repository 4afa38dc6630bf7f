import type * as grpc from '@grpc/grpc-js';
import { losesItsCause, statusOfError } from '#wire/fault-codec';

/** Who makes a unary call, and with which metadata. */
export type UnaryCaller = Pick<
  grpc.ServerUnaryCall<unknown, unknown>,
  'metadata' | 'getAuthContext'
>;

/**
 * The handler of a unary method that `answer` answers. A fault is a gRPC status; any other error is
 * reported and answered as `internal`.
 */
export function unaryHandler<Request, Reply>(
  answer: (request: Request, from: UnaryCaller) => Promise<Reply>,
  reportBug: (error: unknown) => void,
): grpc.handleUnaryCall<Request, Reply> {
  return (call, respond) => {
    answer(call.request, call).then(
      (reply) => respond(null, reply),
      (error: unknown) => {
        if (losesItsCause(error)) reportBug(error);
        respond(statusOfError(error));
      },
    );
  };
}
